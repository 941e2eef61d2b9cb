/* install_sink.c: makes a sink of an installation. The functions are called in the thread
 * that puts chunks, except compare(), which is called in any thread, and on_failure(),
 * which the installation's threads call. */
#include "imageunzip/install/install_sink.h"

#include <stdlib.h>

#include "common/base/grow.h"
#include "common/image/read/partial.h"
#include "common/image/read/prove.h"

struct install_sink {
	struct install *install;     /* NULL: it was ended */
	struct install_stats *stats; /* the caller's, or `unwanted` */
	struct install_stats unwanted;
	struct sink_giver giver;
	uint32_t nchunks;
	bool only;         /* only some partitions are installed (--only) */
	bool searching;    /* the installation was told that any chunk can be asked for */
	bool chunk0_helps; /* it helps when chunk 0 comes first */
	bool takes_parts;
	bool early; /* a rehearsal for which there is only chunk 0 */
	struct rehearsal_found *found; /* the caller's; NULL: no rehearsal */
	/* Chunks that wait for chunk 0. */
	struct proved **held;
	size_t nheld, held_cap;
};

static void
info(void *self, struct sink_info *i)
{
	const struct install_sink *s = self;

	i->in_order = !s->early && install_in_order(s->install);
	i->chunk0_first = s->early || s->chunk0_helps || install_waits(s->install);
	i->has_some =
	    s->early || s->only || install_fits(s->install) || install_resumes(s->install);
	i->takes_parts = s->takes_parts;
	i->decodes = !s->early && install_decodes(s->install);
}

static void
begin(void *self, uint32_t nchunks, const struct sink_giver *giver)
{
	struct install_sink *s = self;

	s->giver = *giver;
	s->nchunks = nchunks;
	install_expect(s->install, nchunks);
}

/* Is a plan still to be made (--fit)? */
static bool
lacks_plan(const struct install_sink *s)
{
	return !s->early && s->install != NULL && install_fits(s->install) &&
	       install_plan(s->install) == NULL;
}

/* Are the chunks asked for one by one from which a plan is made? */
static bool
plans(const struct install_sink *s)
{
	return s->giver.wants != NULL && lacks_plan(s);
}

/* A load asks this before begin(). */
static bool
has(void *self, uint32_t chunk)
{
	const struct install_sink *s = self;

	if (s->only || s->early || lacks_plan(s))
		return chunk != 0;
	return s->install != NULL && install_has(s->install, chunk);
}

static int
compare_fragments(struct install_sink *s, struct sink_part *p, const struct chunk *c,
    struct err *e)
{
	int rc = install_compare(s->install, c, &p->same, e);

	if (rc < 0) {
		sink_part_free(p);
		return -1;
	}
	if (rc == 0)
		return 0; /* the whole chunk is needed */
	p->need = partial_differing(c, p->same);
	p->digested = partial_digested(c);
	return 0;
}

static int
compare(void *self, const void *bytes, const struct blockmap *here, struct sink_part *p,
    struct err *e)
{
	struct blockmap need;
	struct chunk c;

	switch (partial_next(bytes, here, &need, &c)) {
	case PARTIAL_MORE:
		p->need = need;
		p->final = false;
		return 0;
	case PARTIAL_WHOLE:
		return 0;
	case PARTIAL_TABLE:
		break;
	}
	int rc = compare_fragments(self, p, &c, e);
	chunk_free(&c);
	return rc;
}

/* Learn from a chunk which other chunks are wanted, and tell the giver. */
static int
learn(struct install_sink *s, const struct sink_chunk *c, struct err *e)
{
	uint32_t wanted;

	if (!s->searching && install_search(s->install, s->nchunks, e) != 0)
		return -1;
	s->searching = true;
	if (install_learn(s->install, c->number, c->bytes, e) != 0)
		return -1;
	while (!s->early && install_wants(s->install, &wanted))
		s->giver.wants(s->giver.arg, wanted);
	return 0;
}

/* Chunks that have to wait for chunk 0 must not hold the buffers that it needs. */
static bool
decode(void *self, struct proved *c, sink_decoded_fn *decoded, void *arg)
{
	struct install_sink *s = self;

	if (proved_chunk(c)->number != 0 && install_waits(s->install) && !plans(s))
		return false;
	return install_decode(s->install, c, decoded, arg);
}

static int
hold(struct install_sink *s, struct proved *c, struct err *e)
{
	if (grow_array(&s->held, &s->held_cap, s->nheld, sizeof *s->held, "chunks", e) != 0) {
		proved_free(c);
		return -1;
	}
	s->held[s->nheld++] = c;
	return 0;
}

static void
release_held(struct install_sink *s, size_t from)
{
	for (size_t i = from; i < s->nheld; i++)
		proved_free(s->held[i]);
	s->nheld = 0;
}

/* Chunks that come before chunk 0 are kept, because it says whether the others may be
 * written. */
static int
put(void *self, struct proved *proved, struct err *e)
{
	const struct sink_chunk *c = proved_chunk(proved);
	struct install_sink *s = self;
	size_t i = 0;

	if (s->early && c->number != 0) {
		proved_free(proved);
		return 0;
	}
	if ((((s->only && s->giver.wants != NULL) || plans(s)) && learn(s, c, e) != 0) ||
	    (s->early && rehearsal_early(s->install, c->bytes, e) != 0)) {
		proved_free(proved);
		return -1;
	}
	if (plans(s)) { /* it comes again when there is a plan */
		proved_free(proved);
		return 0;
	}
	if (c->number != 0 && install_waits(s->install))
		return hold(s, proved, e);
	int rc = install_feed(s->install, proved, e);
	while (rc == 0 && i < s->nheld)
		rc = install_feed(s->install, s->held[i++], e);
	release_held(s, i);
	return rc;
}

static int
finish(struct install_sink *s, struct sink_sum *sum, struct err *e)
{
	struct install *in = s->install;

	s->install = NULL;
	*sum = (struct sink_sum){ .left = SINK_LEFT_UNSAID };
	int rc = install_finish(in, s->stats, &sum->left, e);
	if (s->found != NULL)
		s->found->stale = s->stats->stale_wiped;
	sum->bytes_written = s->stats->bytes_written;
	sum->bytes_covered = s->stats->bytes_covered;
	if (s->stats == &s->unwanted)
		lost_free(&s->unwanted.lost);
	return rc;
}

static int
end(void *self, struct sink_sum *sum, struct err *e)
{
	struct install_sink *s = self;

	release_held(s, 0);
	if (!s->early)
		return finish(s, sum, e);
	install_abort(s->install);
	s->install = NULL;
	return 0;
}

/* Close the sink. If a thread of the installation has failed, its error replaces *why,
 * because the error of the thread that feeds is only a consequence. */
static bool
close_sink(void *self, struct sink_sum *sum, struct err *why)
{
	struct install_sink *s = self;
	bool failed = s->install != NULL && install_failed(s->install);
	struct err first;

	release_held(s, 0);
	if (failed && finish(s, sum, &first) != 0)
		*why = first;
	if (s->install != NULL)
		sum->left = install_abort(s->install);
	free(s->held);
	free(s);
	return failed;
}

static void
on_failure(void *arg)
{
	struct install_sink *s = arg;

	if (s->giver.failed != NULL)
		s->giver.failed(s->giver.arg);
}

static void
on_forgotten(void *arg, uint32_t chunk)
{
	struct install_sink *s = arg;

	if (s->giver.wants != NULL)
		s->giver.wants(s->giver.arg, chunk);
}

/* Set what follows from the configuration, when the installation is open. */
static void
settle(struct install_sink *s, const struct install_config *c)
{
	s->only = install_is_only(s->install);
	s->chunk0_helps = install_wants_table(c);
	/* A signature covers the whole chunk, and a part of an encrypted chunk cannot be
	 * read. */
	s->takes_parts = c->skip_same && c->state == NULL && !s->only && s->found == NULL &&
	                 c->opener.verify_key == NULL && c->opener.decrypt == NULL;
}

static struct install_config
config_of(struct install_sink *s, const struct install_config *cfg)
{
	struct install_config c = *cfg;

	c.failed = on_failure;
	c.failed_arg = s;
	/* With --only, has() does not go by a state. */
	if (c.only.n == 0)
		c.forgotten = on_forgotten;
	c.forgotten_arg = s;
	return c;
}

static const struct sink_ops install_ops = { .info = info,
	.begin = begin,
	.has = has,
	.compare = compare,
	.decode = decode,
	.put = put,
	.end = end,
	.close = close_sink };

/* Make the sink of an installation that was opened, or free it when that has failed. */
static int
sink_of(struct sink *out, struct install_sink *s, const struct install_config *c, int rc)
{
	if (rc != 0) {
		free(s);
		return -1;
	}
	settle(s, c);
	*out = (struct sink){ &install_ops, s };
	return 0;
}

int
sink_to_install(struct sink *out, const struct install_sink_config *cfg, struct err *e)
{
	struct install_sink *s = calloc(1, sizeof *s);
	struct err ignored;

	if (s == NULL) {
		disk_close(cfg->disk, &ignored);
		return err_nomem(e, "an installation");
	}
	s->stats = cfg->stats != NULL ? cfg->stats : &s->unwanted;
	const struct install_config c = config_of(s, &cfg->install);
	return sink_of(out, s, &c,
	    cfg->disk != NULL ? install_open_disk(&s->install, &c, cfg->disk, false, e)
	                      : install_open(&s->install, &c, cfg->target, e));
}

int
sink_to_rehearsal(struct sink *out, const struct install_config *cfg, const char *target,
    const struct rehearsal_source *source, struct rehearsal_found *found, struct err *e)
{
	static const struct rehearsal_source none;
	struct install_sink *s = calloc(1, sizeof *s);

	if (s == NULL)
		return err_nomem(e, "a rehearsal");
	s->stats = &s->unwanted;
	s->found = found;
	s->early = source == NULL;
	const struct install_config c = config_of(s, cfg);
	return sink_of(out, s, &c,
	    rehearsal_open(
	        &s->install, &c, target, source != NULL ? source : &none, found, e));
}

struct install *
sink_install(const struct sink *sink)
{
	const struct install_sink *s = sink->self;

	return s->install;
}
