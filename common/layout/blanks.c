/* blanks.c: collects the free inodes of partitions, and blanks them in the data that is
 * read. layout.c and layout_part.c call this in imagezip's first thread, windows.c calls
 * blanks_apply() in the thread that reads the source. */
#include "common/layout/blanks.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/bisect.h"
#include "common/base/grow.h"

struct finding {
	struct blanks *b;
	uint64_t shift_bytes;
	const struct rangeset *raw;
	struct range part;
};

void
blanks_free(struct blanks *b)
{
	free(b->v);
	*b = (struct blanks){ 0 };
}

static uint64_t
end_of(const struct fs_records *r)
{
	return r->at_bytes + (uint64_t)r->count * r->record_bytes;
}

/* Add free records of a partition. A record lies in one sector, so it is never read in
 * two parts. */
static int
add(void *arg, const struct fs_records *r, struct err *e)
{
	struct finding *f = arg;
	struct blanks *b = f->b;

	assert(r->record_bytes > 0 && SECTOR_BYTES % r->record_bytes == 0 &&
	       r->at_bytes % r->record_bytes == 0 && r->keep_at <= r->record_bytes &&
	       r->keep_bytes <= r->record_bytes - r->keep_at);
	if (end_of(r) > f->part.len * SECTOR_BYTES)
		return err_set(e, ERR_FORMAT, "inodes lie outside the partition");
	if (rangeset_contains(f->raw, r->at_bytes / SECTOR_BYTES))
		return 0;
	if (grow_array(&b->v, &b->cap, b->n, sizeof *b->v, "free inodes", e) != 0)
		return -1;
	b->v[b->n] = *r;
	b->v[b->n++].at_bytes += f->shift_bytes;
	return 0;
}

int
blanks_find(struct blanks *b, const struct fsmod *mod, struct disk *d,
    struct range part, uint64_t image_sector, const struct rangeset *raw, struct err *e)
{
	struct finding f = { b, image_sector * SECTOR_BYTES, raw, part };

	return mod != NULL && mod->free_inodes != NULL
	           ? mod->free_inodes(d, part, add, &f, e)
	           : 0;
}

static int
by_place(const void *a, const void *b)
{
	const struct fs_records *p = a, *q = b;

	return (p->at_bytes > q->at_bytes) - (p->at_bytes < q->at_bytes);
}

void
blanks_settle(struct blanks *b)
{
	if (b->n > 0)
		qsort(b->v, b->n, sizeof *b->v, by_place);
}

static void
blank(uint8_t *record, const struct fs_records *r)
{
	uint32_t end = r->keep_at + r->keep_bytes;

	memset(record, 0, r->keep_at);
	memset(record + end, 0, r->record_bytes - end);
}

static bool
ends_at_most(const void *blanks, size_t i, uint64_t at)
{
	const struct blanks *b = blanks;

	return end_of(&b->v[i]) <= at;
}

/* The first record that ends behind this byte. */
static size_t
find(const struct blanks *b, uint64_t at)
{
	return bisect(b->n, b, at, ends_at_most);
}

void
blanks_apply(const struct blanks *b, struct range sectors, uint8_t *buf)
{
	uint64_t from = sectors.off * SECTOR_BYTES,
		 to = range_end(sectors) * SECTOR_BYTES;

	for (size_t i = find(b, from); i < b->n && b->v[i].at_bytes < to; i++) {
		const struct fs_records *r = &b->v[i];
		uint64_t at = r->at_bytes > from ? r->at_bytes : from;
		for (; at < end_of(r) && at < to; at += r->record_bytes)
			blank(buf + (at - from), r);
	}
}
