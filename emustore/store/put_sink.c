/* put_sink.c: makes an image of a store a sink of chunks.  Called through sink.h, in the
 * thread that puts; all further threads are those of the put (put.c). */
#include "emustore/store/put_sink.h"

#include <stdlib.h>
#include <string.h>

#include "common/image/format/format.h"
#include "common/image/read/prove.h"

struct put_sink {
	struct put_sink_config cfg;
	struct put *put;
	uint32_t next; /* number of the chunk that must be put next */
	bool failed;   /* the put has failed, not only a wrong call */
	struct err err;
};

static void
info(void *self, struct sink_info *i)
{
	(void)self;
	i->in_order = true;
}

static int
fail(struct put_sink *s, const struct err *e)
{
	s->failed = true;
	s->err = *e;
	return -1;
}

static int
take(struct put_sink *s, const struct sink_chunk *c, struct err *e)
{
	if (c->number != s->next || c->length != NDZ_CHUNK_BYTES)
		return err_set(e, ERR_FORMAT,
		    "chunk %u came, and chunk %u of the image was expected", c->number,
		    s->next);
	s->next++;
	return put_copy(s->put, c->bytes, e) == 0 ? 0 : fail(s, e);
}

static int
put_one(void *self, struct proved *c, struct err *e)
{
	int rc = take(self, proved_chunk(c), e);

	proved_free(c);
	return rc;
}

static int
end(void *self, struct sink_sum *sum, struct err *e)
{
	struct put_sink *s = self;
	struct put_stats *t = s->cfg.stats;

	if (put_end(s->put, s->cfg.about, t, e) != 0)
		return fail(s, e);
	*sum = (struct sink_sum){ t->new_bytes, t->chunks * NDZ_CHUNK_BYTES };
	return 0;
}

static bool
close_sink(void *self, struct sink_sum *sum, struct err *why)
{
	struct put_sink *s = self;
	const bool failed = s->failed;

	(void)sum;
	if (failed)
		*why = s->err;
	put_free(s->put);
	free(s);
	return failed;
}

int
sink_to_store(struct sink *out, const struct put_sink_config *cfg, struct err *e)
{
	static const struct sink_ops ops = {
		.info = info, .put = put_one, .end = end, .close = close_sink
	};
	const struct put_config c = { .exact = cfg->exact, .jobs = cfg->jobs };
	struct put_sink *s = calloc(1, sizeof *s);

	if (s == NULL)
		return err_nomem(e, "an image");
	s->cfg = *cfg;
	if (put_begin(&s->put, cfg->store, cfg->about, &c, e) != 0) {
		free(s);
		return -1;
	}
	*out = (struct sink){ &ops, s };
	return 0;
}
