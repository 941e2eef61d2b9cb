/* nonzero.c: searches sectors of a disk for what is not zero.  behind.c calls it in its
 * caller's thread, common/layout/disk_tail.c in imagezip's first thread. */
#include "common/behind/nonzero.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/zero.h"

enum { READ_SECTORS = (1 << 20) / SECTOR_BYTES };

struct search {
	struct range *found;
	struct disk *d;
	const struct rangeset *known;
	struct rangeset *bad;
	uint8_t *buf; /* READ_SECTORS */
};

/* Blank the known sectors in the buffer. */
static void
blank_known(const struct search *s, struct range r)
{
	for (size_t i = rangeset_find(s->known, r.off); i < rangeset_count(s->known);
	     i++) {
		struct range part = range_clip(
		    rangeset_get(s->known, i), r.off, range_end(r));
		if (part.len == 0)
			break;
		memset(s->buf + (part.off - r.off) * SECTOR_BYTES, 0,
		    part.len * SECTOR_BYTES);
	}
}

/* Let what was found reach to this sector, too. */
static void
note(struct range *found, uint64_t sector)
{
	struct range r = found->len > 0 ? *found : (struct range){ sector, 1 };
	uint64_t from = sector < r.off ? sector : r.off;
	uint64_t end = sector >= range_end(r) ? sector + 1 : range_end(r);

	*found = (struct range){ from, end - from };
}

static int look_at(struct search *, struct range, struct err *);

/* Read block after block what cannot be read at once. */
static int
look_closer(struct search *s, struct range r, struct err *e)
{
	int rc = 0;

	if (r.len <= NONZERO_BLOCK_SECTORS)
		return s->bad != NULL ? rangeset_add(s->bad, r, e) : 0;
	for (uint64_t at = r.off; rc == 0 && at < range_end(r);
	     at += NONZERO_BLOCK_SECTORS)
		rc = look_at(s,
		    range_clip(r, at, at + NONZERO_BLOCK_SECTORS), e);
	return rc;
}

static int
look_at(struct search *s, struct range r, struct err *e)
{
	struct err why;

	if (disk_read(s->d, s->buf, r.len * SECTOR_BYTES, r.off * SECTOR_BYTES, &why) != 0)
		return look_closer(s, r, e);
	if (s->known != NULL)
		blank_known(s, r);
	for (uint64_t i = 0; i < r.len; i++)
		if (!is_zero(s->buf + i * SECTOR_BYTES, SECTOR_BYTES))
			note(s->found, r.off + i);
	return 0;
}

int
nonzero_find(struct range *found, struct disk *d, struct range area,
    const struct rangeset *known, struct rangeset *bad, struct err *e)
{
	struct search s = { found, d, known, bad, malloc(READ_SECTORS * SECTOR_BYTES) };
	int rc = s.buf != NULL ? 0 : err_nomem(e, "a buffer for the search for data");

	for (uint64_t at = area.off, to; rc == 0 && at < range_end(area); at = to) {
		/* The first piece may begin inside of a block. */
		uint64_t step = at % NONZERO_BLOCK_SECTORS != 0 ? NONZERO_BLOCK_SECTORS
		                                                : READ_SECTORS;
		to = at / step * step + step;
		to = to < range_end(area) ? to : range_end(area);
		rc = look_at(&s, (struct range){ at, to - at }, e);
	}
	free(s.buf);
	return rc;
}
