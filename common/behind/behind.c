/* behind.c: finds out who claims the space behind a filesystem or behind the last
 * partition. imagezip, imageunzip and growfs call this before they change, cut off or
 * leave out that space, in the thread that decides. */
#include "common/behind/behind.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fsmods/fsmod.h"
#include "fsmods/swap.h"

enum {
	NEAR_SECTORS = (1 << 20) / SECTOR_BYTES, /* a hash tree is looked for there */
	END_SECTORS = (16 << 20) / SECTOR_BYTES, /* imagezip keeps as much of a disk */
	READ_SECTORS = (1 << 20) / SECTOR_BYTES,
};

/* A search for sectors that are not zero. */
struct search {
	struct disk *d;
	const struct rangeset *own;
	struct behind *b;
	uint8_t *buf;  /* READ_SECTORS */
	uint64_t copy; /* sector with a copy of the first one; UINT64_MAX: none */
};

static bool
is_owned(const struct search *s, uint64_t sector)
{
	for (size_t i = 0; i < s->b->n; i++) {
		struct range r = s->b->owned[i].sectors;
		if (sector >= r.off && sector < range_end(r))
			return true;
	}
	return sector == s->copy || (s->own != NULL && rangeset_contains(s->own, sector));
}

/* ntfsresize puts the copy of the boot sector into the last sector of the partition, some
 * sectors behind the last cluster. */
static uint64_t
find_copy(struct disk *d, struct range area)
{
	uint64_t last = range_end(area) - 1;
	uint8_t first[SECTOR_BYTES], copy[SECTOR_BYTES];
	struct err ignored;

	if (disk_read(d, first, sizeof first, area.off * SECTOR_BYTES, &ignored) != 0 ||
	    disk_read(d, copy, sizeof copy, last * SECTOR_BYTES, &ignored) != 0)
		return UINT64_MAX;
	return memcmp(first, copy, sizeof copy) == 0 ? last : UINT64_MAX;
}

/* Let the unknown data reach to this sector, too. */
static void
note(struct behind *b, uint64_t sector)
{
	struct range r = b->unknown.len > 0 ? b->unknown : (struct range){ sector, 1 };
	uint64_t from = sector < r.off ? sector : r.off;
	uint64_t end = sector >= range_end(r) ? sector + 1 : range_end(r);

	b->unknown = (struct range){ from, end - from };
}

static void
look_at(struct search *s, struct range r)
{
	static const uint8_t zeros[SECTOR_BYTES];
	struct err ignored;

	if (disk_read(s->d, s->buf, r.len * SECTOR_BYTES, r.off * SECTOR_BYTES,
		&ignored) != 0)
		return;
	for (uint64_t i = 0; i < r.len; i++)
		if (memcmp(s->buf + i * SECTOR_BYTES, zeros, SECTOR_BYTES) != 0 &&
		    !is_owned(s, r.off + i))
			note(s->b, r.off + i);
}

static void
look_through(struct search *s, uint64_t from, uint64_t end)
{
	for (uint64_t n; from < end; from += n) {
		n = end - from < READ_SECTORS ? end - from : READ_SECTORS;
		look_at(s, (struct range){ from, n });
	}
}

static int
find_unknown(struct behind *b, struct disk *d, struct range area, uint64_t from,
    const struct rangeset *own, struct err *e)
{
	struct search s = { .d = d, .own = own, .b = b, .copy = find_copy(d, area) };
	uint64_t lo = area.off + from, end = range_end(area);
	uint64_t near = end - lo > NEAR_SECTORS ? lo + NEAR_SECTORS : end;
	uint64_t last = end - lo > END_SECTORS ? end - END_SECTORS : lo;

	s.buf = malloc(READ_SECTORS * SECTOR_BYTES);
	if (s.buf == NULL)
		return err_nomem(e, "a buffer for what lies behind");
	look_through(&s, lo, near);
	look_through(&s, last > near ? last : near, end);
	free(s.buf);
	return 0;
}

int
behind_find(struct behind *b, struct disk *d, struct range area, uint64_t from,
    const struct rangeset *own, struct err *e)
{
	*b = (struct behind){ .n = 0 };
	if (from >= area.len)
		return 0;
	b->n = ending_find_behind(d, area, from, b->owned);
	return find_unknown(b, d, area, from, own, e);
}

uint64_t
behind_owned_from(const struct behind *b)
{
	uint64_t from = UINT64_MAX;

	for (size_t i = 0; i < b->n; i++)
		if (b->owned[i].sectors.off < from)
			from = b->owned[i].sectors.off;
	return from;
}

static size_t
put(char *buf, size_t cap, const char *name, struct range r)
{
	int n = r.len == 1
	            ? snprintf(buf, cap, "%s (sector %" PRIu64 ")", name, r.off)
	            : snprintf(buf, cap, "%s (sectors %" PRIu64 " to %" PRIu64 ")", name,
	                  r.off, range_end(r) - 1);

	return n > 0 ? (size_t)n : 0;
}

const char *
behind_owned_text(const struct behind *b, char *buf, size_t cap)
{
	size_t at = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < b->n && at < cap; i++) {
		if (i > 0)
			at += (size_t)snprintf(buf + at, cap - at, ", ");
		if (at < cap)
			at += put(buf + at, cap - at, tail_kind_name(b->owned[i].kind),
			    b->owned[i].sectors);
	}
	return buf;
}

const char *
behind_unknown_text(const struct behind *b, char *buf, size_t cap)
{
	put(buf, cap, tail_kind_name(TAIL_UNKNOWN), b->unknown);
	return buf;
}

uint64_t
behind_partitions(const struct ptable *t)
{
	const struct partition *last = ptable_last(t);

	return last != NULL ? range_end(last->sectors) : 0;
}

/* Is a system suspended in swap space that is a volume of LVM? */
static bool
volume_is_suspended(struct disk *d, struct range part)
{
	struct fs_scan fs;
	struct err ignored;

	if (fsmod_lvm2.probe(d, part, &ignored) != 1 ||
	    fsmods_scan_as(&fsmod_lvm2, d, part, &fs, &ignored) != 0)
		return false;
	bool is = fs.suspended;
	fs_scan_free(&fs);
	return is;
}

bool
behind_suspended(struct disk *d, const struct ptable *t, unsigned *number)
{
	struct range all = { 0, disk_size_bytes(d) / SECTOR_BYTES };

	*number = 0;
	for (unsigned i = 0; i < t->nparts; i++) {
		*number = t->parts[i].number;
		if (swap_is_suspended(d, t->parts[i].sectors) ||
		    volume_is_suspended(d, t->parts[i].sectors))
			return true;
	}
	return t->nparts == 0 && swap_is_suspended(d, all);
}
