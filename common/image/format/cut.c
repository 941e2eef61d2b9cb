/* cut.c: the rule by which windows follow the content of a disk.  recut.c asks it for
 * images that are made, and the store for images of other programs, each with a struct
 * cut of its own in its own thread. */
#include "common/image/format/cut.h"

#include <stdlib.h>

#include "common/base/crc32c.h"
#include "common/base/grow.h"
#include "common/base/zero.h"

enum {
	/* With CUT_BLOCKS_MIN and CUT_BLOCKS_MAX, a window of a large file has 16 to 17 blocks on
	 * average. */
	WINDOW_HASH = 16,
	/* On average, one in four windows that end at such a hash also ends a long fragment. */
	LONG_HASH = 64,
	/* The last block of a file ends in so many zeros, unless it is nearly full: 98 in 100. */
	SLACK_BYTES = 64,
};

static int
add_start(struct cut_zones *z, uint64_t sector, struct err *e)
{
	if (grow_array(&z->starts, &z->cap, z->n, sizeof *z->starts, "partitions", e) != 0)
		return -1;
	z->starts[z->n++] = sector;
	return 0;
}

int
cut_zones_add(struct cut_zones *z, struct range r, struct err *e)
{
	return add_start(z, r.off, e) != 0 || add_start(z, range_end(r), e) != 0 ? -1
	                                                                         : 0;
}

static int
by_sector(const void *a, const void *b)
{
	const uint64_t *p = a, *q = b;

	return (*p > *q) - (*p < *q);
}

void
cut_zones_settle(struct cut_zones *z)
{
	if (z->n > 0)
		qsort(z->starts, z->n, sizeof *z->starts, by_sector);
}

void
cut_zones_free(struct cut_zones *z)
{
	free(z->starts);
	*z = (struct cut_zones){ 0 };
}

/* Find the zone of a sector.  Returns where the zone begins; *end is where it ends. */
static uint64_t
find_zone(struct cut *c, uint64_t sector, uint64_t *end)
{
	const struct cut_zones *z = c->zones;
	size_t n = z != NULL ? z->n : 0;

	while (c->zone < n && z->starts[c->zone] <= sector)
		c->zone++;
	*end = c->zone < n ? z->starts[c->zone] : UINT64_MAX;
	return c->zone > 0 ? z->starts[c->zone - 1] : 0;
}

/* Is the sector filler?  *end is where this changes. */
static bool
find_filler(struct cut *c, uint64_t sector, uint64_t *end)
{
	const struct rangeset *f = c->filler;
	size_t n = f != NULL ? rangeset_count(f) : 0;

	while (c->filler_at < n && range_end(rangeset_get(f, c->filler_at)) <= sector)
		c->filler_at++;
	*end = UINT64_MAX;
	if (c->filler_at == n)
		return false;
	struct range r = rangeset_get(f, c->filler_at);
	*end = r.off > sector ? r.off : range_end(r);
	return r.off <= sector;
}

struct range
cut_piece(struct cut *c, struct range r)
{
	uint64_t zone_end, filler_end;

	c->at_start = find_zone(c, r.off, &zone_end);
	c->counts = !find_filler(c, r.off, &filler_end);
	uint64_t in_zone = r.off - c->at_start;
	uint64_t end = r.off + (CUT_BLOCK_SECTORS - in_zone % CUT_BLOCK_SECTORS);
	c->at_end = end < zone_end ? end : zone_end;
	return range_clip(r, r.off, c->at_end < filler_end ? c->at_end : filler_end);
}

/* Complete the open block, and tell whether a window ends with it. */
static enum cut_kind
end_block(struct cut *c)
{
	if (!c->counted)
		return CUT_NONE;
	c->counted = false;
	c->blocks++;
	bool content = c->blocks >= CUT_BLOCKS_MIN &&
	               ((c->files && c->slack) || c->hash % WINDOW_HASH == 0);
	if (!content && c->blocks < CUT_BLOCKS_MAX)
		return CUT_NONE;
	c->blocks = 0;
	return c->hash != 0 && c->hash % LONG_HASH == 0 ? CUT_LONG : CUT_WINDOW;
}

enum cut_kind
cut_before(struct cut *c)
{
	if (!c->begun || c->at_end == c->block_end)
		return CUT_NONE;
	if (c->at_start == c->zone_start)
		return end_block(c);
	cut_anew(c);
	return CUT_LONG;
}

void
cut_anew(struct cut *c)
{
	c->begun = c->counted = false;
	c->blocks = 0;
}

void
cut_add(struct cut *c, struct range piece, const void *data)
{
	c->begun = true;
	c->zone_start = c->at_start;
	c->block_end = c->at_end;
	if (!c->counts)
		return;
	/* The CRC's register begins with 0 and is not inverted at the end. */
	uint32_t before = c->counted ? c->hash : 0;
	c->hash = ~crc32c_more(~before, data, piece.len * SECTOR_BYTES);
	c->counted = true;
	c->slack =
	    is_zero((const uint8_t *)data + piece.len * SECTOR_BYTES - SLACK_BYTES, SLACK_BYTES);
}
