/* source.c: the calls that all sources have in common.  Whoever has a source calls this, in
 * the threads that source.h allows. */
#include "common/image/read/source.h"

const char *
source_name(const struct source *s)
{
	return s->ops->name(s->self);
}

int
source_info(struct source *s, struct source_info *info, struct err *e)
{
	*info = (struct source_info){ .chunks = SOURCE_CHUNKS_UNKNOWN,
		.bytes = UINT64_MAX };
	return s->ops->info(s->self, info, e);
}

int
source_read(
    struct source *s, uint32_t chunk, const struct blockmap *need, void *to, struct err *e)
{
	const struct blockmap all = blockmap_range(0, WIRE_CHUNK_BLOCKS);

	return s->ops->read(s->self, chunk, need != NULL ? need : &all, 0, to, e);
}

int
source_read_run(struct source *s, uint32_t chunk, uint32_t first, uint32_t count, void *to,
    struct err *e)
{
	const struct blockmap need = blockmap_range(first, count);

	return s->ops->read(s->self, chunk, &need, first, to, e);
}

void
source_want(struct source *s, uint32_t chunk, const struct blockmap *need,
    enum source_when when)
{
	const struct blockmap all = blockmap_range(0, WIRE_CHUNK_BLOCKS);

	if (s->ops->want != NULL)
		s->ops->want(s->self, chunk, need != NULL ? need : &all, when);
}

bool
source_other(struct source *s, unsigned attempt)
{
	return s->ops->other != NULL && s->ops->other(s->self, attempt);
}

int
source_next(struct source *s, uint32_t *chunk, void *to, size_t *bytes, struct err *e)
{
	if (s->ops->next == NULL)
		return err_set(e, ERR_UNSUPPORTED, "%s: is read by number", source_name(s));
	return s->ops->next(s->self, chunk, to, bytes, e);
}

int
source_arrivals_fd(struct source *s)
{
	return s->ops->arrivals_fd != NULL ? s->ops->arrivals_fd(s->self) : -1;
}

int
source_arrived(struct source *s, uint32_t *chunk, struct err *e)
{
	return s->ops->arrived != NULL ? s->ops->arrived(s->self, chunk, e) : 0;
}

void
source_cancel(struct source *s)
{
	if (s->ops->cancel != NULL)
		s->ops->cancel(s->self);
}

void
source_close(struct source *s)
{
	if (s != NULL && s->ops != NULL)
		s->ops->close(s->self);
	if (s != NULL)
		*s = (struct source){ NULL, NULL };
}
