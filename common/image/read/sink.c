/* sink.c: the calls that all sinks have in common.  Whoever has a sink calls this, in the
 * threads that sink.h allows. */
#include "common/image/read/sink.h"

#include <stdlib.h>

void
sink_info(const struct sink *s, struct sink_info *info)
{
	*info = (struct sink_info){ .in_order = false };
	if (s->ops->info != NULL)
		s->ops->info(s->self, info);
}

void
sink_begin(struct sink *s, uint32_t nchunks, const struct sink_giver *giver)
{
	static const struct sink_giver nobody;

	if (s->ops->begin != NULL)
		s->ops->begin(s->self, nchunks, giver != NULL ? giver : &nobody);
}

bool
sink_has(const struct sink *s, uint32_t chunk)
{
	return s->ops->has != NULL && s->ops->has(s->self, chunk);
}

int
sink_compare(struct sink *s, const void *bytes, const struct blockmap *here,
    struct sink_part *part, struct err *e)
{
	*part = (struct sink_part){ .need = blockmap_range(0, WIRE_CHUNK_BLOCKS),
		.final = true };
	return s->ops->compare != NULL ? s->ops->compare(s->self, bytes, here, part, e) : 0;
}

bool
sink_decode(struct sink *s, struct proved *c, sink_decoded_fn *decoded, void *arg)
{
	return s->ops->decode(s->self, c, decoded, arg);
}

int
sink_put(struct sink *s, struct proved *c, struct err *e)
{
	return s->ops->put(s->self, c, e);
}

int
sink_end(struct sink *s, struct sink_sum *sum, struct err *e)
{
	struct sink_sum done = { 0 };
	int rc = s->ops->end(s->self, &done, e);

	if (sum != NULL)
		*sum = done;
	return rc;
}

bool
sink_close(struct sink *s, struct sink_sum *sum, struct err *why)
{
	struct err ignored = { .kind = ERR_CANCELLED };
	struct sink_sum unused;

	if (s == NULL || s->ops == NULL)
		return false;
	bool failed = s->ops->close(s->self, sum != NULL ? sum : &unused,
	    why != NULL ? why : &ignored);
	*s = (struct sink){ NULL, NULL };
	return failed;
}

bool
sink_is_partial(const struct sink_chunk *c)
{
	if (c->part == NULL || c->part->same == NULL)
		return false;
	const struct blockmap lack = blockmap_minus(c->part->digested, c->here);
	return !blockmap_empty(&lack);
}

void
sink_part_free(struct sink_part *p)
{
	free(p->same);
	p->same = NULL;
}
