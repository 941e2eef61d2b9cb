/* rehearsal_sink.c: a sink that writes nothing: chunk 0 shows what an installation would
 * do. The functions are called in the thread that puts chunks. */
#include <stdlib.h>

#include "imageunzip/install/install_sink.h"

struct rehearsal_sink {
	struct rehearsal *rehearsal;
	struct rehearsal_found *found; /* the caller's */
	uint32_t nchunks;
};

static void
info(void *self, struct sink_info *i)
{
	(void)self;
	i->chunk0_first = i->has_some = i->writes_nothing = true;
}

static void
begin(void *self, uint32_t nchunks, const struct sink_giver *giver)
{
	struct rehearsal_sink *s = self;

	(void)giver;
	s->nchunks = nchunks;
}

static bool
has(void *self, uint32_t chunk)
{
	(void)self;
	return chunk != 0;
}

/* Chunks other than 0 are not needed, and are released. */
static int
put(void *self, const struct sink_chunk *c, struct err *e)
{
	struct rehearsal_sink *s = self;
	int rc = 0;

	if (c->number == 0)
		rc = rehearsal_begin(s->rehearsal, c->bytes, e);
	if (c->number == 0 && rc == 0)
		rc = rehearsal_end_early(
		    s->rehearsal, c->bytes, s->nchunks, s->found, e);
	sink_release(c);
	return rc;
}

static int
end(void *self, struct sink_sum *sum, struct err *e)
{
	(void)self, (void)sum, (void)e;
	return 0;
}

static bool
close_sink(void *self, struct sink_sum *sum, struct err *why)
{
	struct rehearsal_sink *s = self;

	(void)sum, (void)why;
	rehearsal_free(s->rehearsal);
	free(s);
	return false;
}

int
sink_to_rehearsal(struct sink *out, const struct install_config *cfg, const char *target,
    struct rehearsal_found *found, struct err *e)
{
	static const struct sink_ops ops = { .info = info,
		.begin = begin,
		.has = has,
		.put = put,
		.end = end,
		.close = close_sink };
	struct rehearsal_sink *s = calloc(1, sizeof *s);

	if (s == NULL)
		return err_nomem(e, "a rehearsal");
	s->found = found;
	if (rehearsal_open(&s->rehearsal, cfg, target, &(struct rehearsal_source){ 0 }, e) !=
	    0) {
		free(s);
		return -1;
	}
	*out = (struct sink){ &ops, s };
	return 0;
}
