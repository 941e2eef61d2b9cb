/* tiling.c: the spans of chunks are collected, and the set is checked at the end.
 * Installations call this in the thread that feeds chunks, sectors_open.c in the thread
 * that opens the image, survey.c in imageunzip's first thread. */
#include "common/image/format/tiling.h"

#include <inttypes.h>

void
tiling_init(struct tiling *t)
{
	*t = (struct tiling){ 0 };
	rangeset_init(&t->spans);
}

void
tiling_free(struct tiling *t)
{
	rangeset_free(&t->spans);
}

int
tiling_add(struct tiling *t, uint32_t number, const struct ndz_header *h, struct err *e)
{
	struct range span = { h->firstsect, h->lastsect - h->firstsect };

	t->silent |= h->version == 1;
	t->misnumbered |= h->index < 0 || (uint32_t)h->index != number;
	t->sectors += span.len;
	return rangeset_add(&t->spans, span, e);
}

/* The first gap in front of the chunks that answer for these sectors, or between two of
 * them. */
static struct range
first_gap(const struct tiling *t, struct range within)
{
	size_t i = rangeset_find(&t->spans, within.off);
	uint64_t from = within.off;

	if (i < rangeset_count(&t->spans) && rangeset_get(&t->spans, i).off <= from)
		from = range_end(rangeset_get(&t->spans, i++));
	if (i == rangeset_count(&t->spans))
		return (struct range){ from, 0 };
	uint64_t to = rangeset_get(&t->spans, i).off;
	return range_clip((struct range){ from, to - from }, from, range_end(within));
}

int
tiling_check(struct tiling *t, struct range *gap, struct err *e)
{
	return tiling_check_within(t, (struct range){ 0, UINT64_MAX }, gap, e);
}

int
tiling_check_within(
    struct tiling *t, struct range sectors, struct range *gap, struct err *e)
{
	*gap = (struct range){ 0, 0 };
	rangeset_seal(&t->spans);
	if (t->silent || rangeset_count(&t->spans) == 0)
		return 0;
	if (rangeset_total(&t->spans) != t->sectors)
		return err_set(e, ERR_FORMAT,
		    "%" PRIu64 " sectors belong to two chunks: a chunk is there twice, "
		    "or belongs to another image",
		    t->sectors - rangeset_total(&t->spans));
	*gap = first_gap(t, sectors);
	if (gap->len == 0 || !t->misnumbered)
		return 0;
	return err_set(e, ERR_FORMAT,
	    "no chunk covers the sectors %" PRIu64 " to %" PRIu64
	    ", and there is a gap in the numbers of the chunks: chunks are missing",
	    gap->off, range_end(*gap) - 1);
}
