/* behind.c: finds out who claims the space behind a filesystem or behind the last
 * partition. imagezip, imageunzip and growfs call this before they change, cut off or
 * leave out that space, in the thread that decides. */
#include "common/behind/behind.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/behind/nonzero.h"
#include "fsmods/fsmod.h"
#include "fsmods/lvm2/lvm2.h"
#include "fsmods/swap.h"

/* A hash tree is looked for there. */
enum { NEAR_SECTORS = (1 << 20) / SECTOR_BYTES };

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

/* The sectors that are not unknown: the table's, the copy of the first sector, and what
 * is recognised. */
static int
find_known(struct rangeset *known, const struct behind *b, struct disk *d,
    struct range area, const struct rangeset *own, struct err *e)
{
	uint64_t copy = find_copy(d, area);
	int rc = own != NULL ? rangeset_union(known, own, e) : 0;

	if (rc == 0 && copy != UINT64_MAX)
		rc = rangeset_add(known, (struct range){ copy, 1 }, e);
	for (size_t i = 0; rc == 0 && i < b->n; i++)
		rc = rangeset_add(known, b->owned[i].sectors, e);
	rangeset_seal(known);
	return rc;
}

static int
find_unknown(struct behind *b, struct disk *d, struct range area, uint64_t from,
    const struct rangeset *own, struct err *e)
{
	uint64_t lo = area.off + from, end = range_end(area);
	uint64_t near = end - lo > NEAR_SECTORS ? lo + NEAR_SECTORS : end;
	uint64_t last = end - lo > BEHIND_END_SECTORS ? end - BEHIND_END_SECTORS : lo;
	struct rangeset known;

	last = last > near ? last : near;
	rangeset_init(&known);
	int rc = find_known(&known, b, d, area, own, e);
	if (rc == 0)
		rc = nonzero_find(
		    &b->unknown, d, (struct range){ lo, near - lo }, &known, NULL, e);
	if (rc == 0)
		rc = nonzero_find(
		    &b->unknown, d, (struct range){ last, end - last }, &known, NULL, e);
	rangeset_free(&known);
	return rc;
}

int
behind_find(struct behind *b, struct disk *d, struct range area, uint64_t from,
    const struct rangeset *own, struct err *e)
{
	*b = (struct behind){ .n = 0 };
	if (from >= area.len)
		return 0;
	b->n = end_signature_find_behind(d, area, from, b->owned);
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

/* Is a system suspended in a file of NTFS? */
static bool
ntfs_is_suspended(struct disk *d, struct range part)
{
	const struct fsmod *mod = &fsmod_ntfs;
	struct fs_scan fs;
	struct err ignored;

	if (mod->probe(d, part, &ignored) != 1 ||
	    fsmods_scan_as(mod, d, part, &fs, &ignored) != 0)
		return false;
	bool is = fs.suspended;
	fs_scan_free(&fs);
	return is;
}

static bool
is_suspended(struct disk *d, struct range part)
{
	struct err ignored;

	return swap_is_suspended(d, part, &ignored) == 1 ||
	       lvm2_is_suspended(d, part, &ignored) == 1 || ntfs_is_suspended(d, part);
}

bool
behind_suspended(struct disk *d, const struct ptable *t, char where[BEHIND_WHERE_CAP])
{
	struct range all = { 0, disk_size_bytes(d) / SECTOR_BYTES };

	for (unsigned i = 0; i < t->nparts; i++) {
		snprintf(where, BEHIND_WHERE_CAP, "in partition %u", t->parts[i].number);
		if (is_suspended(d, t->parts[i].sectors))
			return true;
	}
	snprintf(where, BEHIND_WHERE_CAP, "on the disk");
	return t->nparts == 0 && is_suspended(d, all);
}
