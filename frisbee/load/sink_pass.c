/* Where chunks go that are proved: to the installation, to a plain file, or only to a
 * rehearsal; and which others they lead to.  Called by sink.c in the sink's thread, but
 * for sink_wants(), which is the loop's. */
#include "frisbee/load/sink_impl.h"

#include "common/base/grow.h"

/* Called by install's threads, once for each chunk. */
static void
released(void *arg, const void *chunk)
{
	struct sink *s = arg;

	mailbox_put(s->box, SINK_FREE,
	    (uint32_t)(((const uint8_t *)chunk - s->memory) / NDZ_CHUNK_BYTES));
}

static int
install_planned(struct sink *s, const struct filled *f, struct err *e)
{
	uint32_t buf = (uint32_t)(f - s->filled);
	struct plan *p = planner_plan(s->planner, buf);
	bool *same = p->same;

	p->same = NULL;
	return install_feed_compared(s->install, f->chunk, sink_buffer(s, buf), same,
	    f->partial, released, s, e);
}

/* Another chunk than 0 came by chance. */
int
sink_rehearse(struct sink *s, const struct filled *f, struct err *e)
{
	uint32_t buf = (uint32_t)(f - s->filled);
	const uint8_t *bytes = sink_buffer(s, buf);
	int rc = 0;

	if (f->chunk == 0 && rehearsal_begin(s->rehearsal, bytes, e) != 0)
		rc = -1;
	else if (f->chunk == 0)
		rc = rehearsal_end_early(
		    s->rehearsal, bytes, s->nchunks, s->cfg.dry, e);
	mailbox_put(s->box, SINK_FREE, buf);
	return rc;
}

/* A chunk that is proved, to where it belongs. */
static int
pass_on(struct sink *s, struct filled *f, struct err *e)
{
	uint32_t buf = (uint32_t)(f - s->filled);

	if (f->planned)
		return install_planned(s, f, e);
	if (s->install != NULL)
		return install_feed(
		    s->install, f->chunk, sink_buffer(s, buf), released, s, e);
	int rc = disk_write(s->file, sink_buffer(s, buf), f->bytes,
	    (uint64_t)f->chunk * NDZ_CHUNK_BYTES, e);
	s->file_bytes += f->bytes;
	if (rc == 0 && s->cfg.stored != NULL)
		s->cfg.stored(s->cfg.stored_arg, f->chunk);
	mailbox_put(s->box, SINK_FREE, buf);
	return rc;
}

/* Chunk 0 says whether the others may be written. */
int
sink_pass_on(struct sink *s, struct filled *f, struct err *e)
{
	if (f->chunk != 0 && sink_waits(s)) {
		s->held[s->nheld++] = f;
		return 0;
	}
	int rc = pass_on(s, f, e);
	for (uint32_t i = 0; i < s->nheld && rc == 0; i++)
		rc = pass_on(s, s->held[i], e);
	s->nheld = 0;
	return rc;
}

static int
add_want(struct sink *s, uint32_t chunk, struct err *e)
{
	pthread_mutex_lock(&s->lock);
	int rc = grow(&s->wants, &s->wants_cap, s->nwants, sizeof *s->wants,
	    "the list of chunks", e);
	bool tell = rc == 0 && !s->told;
	if (rc == 0) {
		s->wants[s->nwants++] = chunk;
		s->told = true;
	}
	pthread_mutex_unlock(&s->lock);
	if (tell)
		mailbox_put(s->box, SINK_WANTS, 0);
	return rc;
}

/* --only: which chunks does this one lead to? */
int
sink_learn(struct sink *s, const struct filled *f, struct err *e)
{
	uint32_t chunk;

	if (!s->searching &&
	    install_only_source(s->install, INSTALL_SEARCH, s->nchunks, e) != 0)
		return -1;
	s->searching = true;
	if (install_learn(s->install, f->chunk,
		sink_buffer(s, (uint32_t)(f - s->filled)), e) != 0)
		return -1;
	while (install_wants(s->install, &chunk))
		if (add_want(s, chunk, e) != 0)
			return -1;
	return 0;
}

int
sink_complete(struct sink *s, struct err *e)
{
	if (s->rehearsal != NULL) {
		rehearsal_free(s->rehearsal);
		s->rehearsal = NULL;
		return 0;
	}
	if (s->install != NULL) {
		struct install *in = s->install;
		s->install = NULL;
		return install_finish(in, &s->stats, e);
	}
	s->stats.bytes_written = s->stats.bytes_covered = s->file_bytes;
	int rc = disk_sync(s->file, e);
	struct err closing;
	if (disk_close(s->file, rc == 0 ? e : &closing) != 0)
		rc = -1;
	s->file = NULL;
	return rc;
}

bool
sink_wants(struct sink *s, uint32_t *chunk)
{
	pthread_mutex_lock(&s->lock);
	bool any = s->nwants > 0;
	if (any)
		*chunk = s->wants[--s->nwants];
	s->told = any;
	pthread_mutex_unlock(&s->lock);
	return any;
}
