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

const char *
sink_left_text(enum sink_left left, bool told_to_end)
{
	static const char *const texts[] = {
		[SINK_LEFT_AS_WAS] = "nothing was written",
		[SINK_LEFT_NO_FILE] = "the file, which was not complete, was removed",
		[SINK_LEFT_PART] =
		    "the target is incomplete: the same command writes all of it anew",
		[SINK_LEFT_SECTORS] = "the target is incomplete: the same command with "
				      "--skip-same writes only what lacks",
		[SINK_LEFT_STATE] = "the target is incomplete: the same command goes on",
	};

	if (told_to_end)
		return texts[left];
	return left >= SINK_LEFT_PART ? "the target is incomplete" : NULL;
}

void
sink_add_left(enum sink_left left, struct err *e)
{
	const char *text = sink_left_text(left, e->kind == ERR_CANCELLED);

	if (text != NULL)
		err_add(e, "%s", text);
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
