/* layout.c: finds out what a source is (a disk, a partition or any file), and which
 * of its sectors are stored. imagezip's main.c calls this in the first thread,
 * before it reads data; dsync/extract/used.c calls it to learn what is in use. */
#include "common/layout/layout_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/layout/bootimage.h"
#include "common/layout/bsdparts.h"
#include "common/layout/relocate.h"
#include "fsmods/foreign.h"
#include "fsmods/fsmod.h"
#include "fsmods/recognise.h"
#include "fsmods/sectorsize.h"

/* Shorter holes are read: a list of them may be long. */
enum { HOLE_SECTORS = (1 << 20) / SECTOR_BYTES };

static uint64_t
source_sectors(struct disk *d)
{
	return disk_size_bytes(d) / SECTOR_BYTES;
}

static int
check_numbers(const bool set[], const char *option, const struct ptable *t,
    struct disk *d, struct err *e)
{
	for (unsigned n = 1; n <= PTABLE_PARTS_MAX; n++)
		if (set[n] && ptable_find(t, n) == NULL)
			return err_set(e, ERR_ABSENT, "%s %u: %s has no such partition",
			    option, n, disk_name(d));
	return 0;
}

/* Skip nothing of the partitions that are stored whole: another one may lie in them. */
static int
keep_whole_ones(struct layout *l, struct rangeset *skip, struct err *e)
{
	struct rangeset whole;
	int rc = 0;

	rangeset_init(&whole);
	for (unsigned i = 0; i < l->nparts && rc == 0; i++)
		if (l->parts[i].whole)
			rc = rangeset_add(&whole, l->parts[i].sectors, e);
	rangeset_seal(&whole);
	if (rc == 0)
		rc = rangeset_minus(skip, &whole, e);
	if (rc == 0)
		rc = rangeset_minus(&l->zero, &whole, e);
	rangeset_free(&whole);
	return rc;
}

/* The table without the partitions that are left out like gaps.  It borrows from *t. */
static struct ptable
occupied(const struct layout *l, const struct ptable *t)
{
	struct ptable of = *t;

	of.nparts = 0;
	for (unsigned i = 0; i < t->nparts; i++)
		if (!l->parts[i].vacant)
			of.parts[of.nparts++] = t->parts[i];
	return of;
}

static int
layout_disk(struct layout *l, struct disk *d, const struct capture_what *o,
    const struct ptable *t, struct rangeset *skip, struct err *e)
{
	l->kind = EXT_KIND_DISK;
	l->total = source_sectors(d);
	if (check_numbers(o->ignore.whole, "-I", t, d, e) != 0 ||
	    check_numbers(o->force_raw.whole, "-R", t, d, e) != 0)
		return -1;
	for (unsigned i = 0; i < t->nparts; i++)
		if (layout_table_part(l, d, o, t, &t->parts[i], skip, e) != 0)
			return -1;
	struct ptable of = occupied(l, t);
	if (keep_whole_ones(l, skip, e) != 0 ||
	    layout_outside(l, d, o, &of, skip, e) != 0)
		return -1;
	return o->boot_root == 0
	           ? 0
	           : bootimage_table(&l->relocs, d, t, (unsigned)o->boot_root, e);
}

static int
layout_slice(struct layout *l, struct disk *d, const struct capture_what *o,
    const struct ptable *t, struct rangeset *skip, struct err *e)
{
	const struct partition *p = ptable_find(t, (unsigned)o->slice);

	if (p == NULL)
		return err_set(e, ERR_ABSENT, "-s %" PRIu64 ": %s has no such partition",
		    o->slice, disk_name(d));
	l->kind = EXT_KIND_PARTITION;
	l->base = p->sectors.off;
	l->total = p->sectors.len;
	return layout_table_part(l, d, o, t, p, skip, e);
}

/* Lay out a source that is a partition without a table. */
static int
layout_bare(struct layout *l, struct disk *d, const struct capture_what *o,
    struct rangeset *skip, struct err *e)
{
	l->kind = EXT_KIND_PARTITION;
	l->total = source_sectors(d);
	struct layout_part *p = layout_add_part(l, 0, (struct range){ 0, l->total });
	return layout_scan_part(l, d, o, p, skip, e);
}

static void
layout_raw(struct layout *l, struct disk *d, const struct capture_what *o)
{
	uint64_t bytes = disk_size_bytes(d);

	l->kind = EXT_KIND_FILE;
	l->total = bytes == UINT64_MAX ? UINT64_MAX
	                               : (bytes + SECTOR_BYTES - 1) / SECTOR_BYTES;
	struct layout_part *p = layout_add_part(l, 0, (struct range){ 0, l->total });
	strcpy(p->fs, "raw");
	(void)o;
}

/* Find out what a source is, when -s and -r do not say it. */
static int
layout_detect(struct layout *l, struct disk *d, const struct capture_what *o,
    const struct ptable *t, struct rangeset *skip, struct err *e)
{
	const struct fsmod *fs = fsmods_probe(
	    d, (struct range){ 0, source_sectors(d) }, FS_ALONE);

	/* When there is a partition table as well as a disklabel, the table counts. */
	if (fs != NULL && fs->container && t->nparts > 0)
		fs = NULL;
	if (o->linux_partition || o->has_type ||
	    (fs != NULL && t->nparts == 0 && !o->whole_disk))
		return layout_bare(l, d, o, skip, e);
	if (fs != NULL && t->nparts > 0 && !o->whole_disk)
		return err_set(e, ERR_UNSUPPORTED,
		    "%s: has a partition table and a %s at its start: use --disk, -l "
		    "(or -S type), or -r to say which it is",
		    disk_name(d), fs->title);
	const char *member = o->whole_disk || t->nparts == 0
	                         ? NULL
	                         : foreign_find(
				       d, (struct range){ 0, source_sectors(d) });
	if (member != NULL)
		return err_set(e, ERR_UNSUPPORTED,
		    "%s: has a partition table and is %s: use --disk, -l (or -S type), "
		    "or -r to say which it is",
		    disk_name(d), member);
	if (t->kind != PTABLE_NONE && t->nparts > 0)
		return layout_disk(l, d, o, t, skip, e);
	if (o->whole_disk && t->kind == PTABLE_NONE)
		return err_set(
		    e, ERR_ABSENT, "%s: has no partition table", disk_name(d));
	layout_raw(l, d, o);
	l->kind = EXT_KIND_DISK;
	snprintf(l->parts[0].warning, sizeof l->parts[0].warning,
	    "no partitions, and %s: every sector is stored",
	    recognise_content(d, (struct range){ 0, source_sectors(d) }).text);
	return 0;
}

static int
find_skips(struct layout *l, struct disk *d, const struct capture_what *o,
    struct rangeset *skip, struct err *e)
{
	struct ptable t;

	if (o->raw) {
		layout_raw(l, d, o);
		return 0;
	}
	if (!disk_seekable(d))
		return err_set(
		    e, ERR_USAGE, "%s: only -r and -f can read a pipe", disk_name(d));
	/* A bare partition may hold what looks like a partition table, so a table is not
	 * looked for. */
	bool bare = o->linux_partition || o->has_type;
	if (bare)
		return layout_bare(l, d, o, skip, e);
	if (ptable_read(&t, d, e) != 0)
		return err_ctx(e, "use -r to store all of it, or -l or -S to store it "
				  "as one partition");
	snprintf(l->warning, sizeof l->warning, "%s", t.warning);
	int rc = sectorsize_check(d, &t, e);
	if (rc != 0)
		err_ctx(e, "use -r to store all of it");
	else
		rc = o->slice != 0 ? layout_slice(l, d, o, &t, skip, e)
		                   : layout_detect(l, d, o, &t, skip, e);
	ptable_free(&t);
	return rc;
}

static int
check_length(struct disk *d, const struct capture_what *o, struct err *e)
{
	uint64_t bytes = disk_size_bytes(d);

	if (bytes == UINT64_MAX || bytes % SECTOR_BYTES == 0 || o->any_length)
		return 0;
	return err_set(e, ERR_UNSUPPORTED,
	    "%s: its length, %" PRIu64
	    " bytes, is not a multiple of 512; use -f to store it as a file",
	    disk_name(d), bytes);
}

/* Refuse -I and -R for a source without partitions; otherwise what was to be left out would
 * be in the image. */
static int
check_named(const struct layout *l, const struct capture_what *o, struct err *e)
{
	if (l->parts[0].number != 0)
		return 0; /* layout_disk() has looked for them */
	for (unsigned n = 1; n <= PTABLE_PARTS_MAX; n++)
		if (o->ignore.whole[n] || o->force_raw.whole[n])
			return err_set(e, ERR_USAGE,
			    "%s %u: %s is not treated as a disk with partitions",
			    o->ignore.whole[n] ? "-I" : "-R", n, o->source);
	return 0;
}

/* Do not skip short free ranges; what an option leaves out is skipped, however short. */
static int
drop_short(const struct layout *l, const struct capture_what *o, struct rangeset *skip,
    struct err *e)
{
	rangeset_drop_short(skip, o->min_free);
	return rangeset_union(skip, &l->left_out, e);
}

/* Turn what is skipped into what is stored.  Short free ranges are stored, and with -Z they
 * are stored as zeros. */
static int
settle(struct layout *l, const struct capture_what *o, struct rangeset *skip, struct err *e)
{
	uint64_t end = l->total;

	if (o->count != 0 && o->count < l->total) {
		end = l->total = o->count;
		rangeset_clip(skip, 0, end);
		rangeset_clip(&l->zero, 0, end);
		rangeset_clip(&l->left_out, 0, end);
	}
	rangeset_seal(&l->zero);
	rangeset_seal(&l->left_out);
	rangeset_seal(&l->hot);
	/* Where partitions overlap, sectors that one of them stores as zeros are not
	 * skipped. */
	if (rangeset_minus(skip, &l->zero, e) != 0)
		return -1;
	if (o->zero_small) {
		if (rangeset_union(&l->zero, skip, e) != 0)
			return -1;
	}
	if (rangeset_union(&l->filler, skip, e) != 0)
		return -1;
	if (drop_short(l, o, skip, e) != 0)
		return -1;
	if (rangeset_minus(&l->filler, skip, e) != 0)
		return -1;
	if (o->zero_small && rangeset_minus(&l->zero, skip, e) != 0)
		return -1;
	for (unsigned i = 0; i < l->nparts; i++) {
		struct layout_part *p = &l->parts[i];
		if (p->sectors.len == UINT64_MAX)
			continue;
		uint64_t lo = p->sectors.off - l->base, hi = lo + p->sectors.len;
		for (size_t k = rangeset_find(skip, lo); k < rangeset_count(skip);
		     k++) {
			struct range r = range_clip(rangeset_get(skip, k), lo, hi);
			if (r.len == 0)
				break;
			p->skipped += r.len;
		}
	}
	if (rangeset_invert(skip, 0, end, e) != 0)
		return -1;
	blanks_settle(&l->blanks);
	l->store = *skip;
	rangeset_init(skip);
	disk_tail_settle(&l->outside, &l->store);
	return 0;
}

/* Check -A; not with -i, with which the user wants to see how much would be stored. A
 * pipe is checked while it is read. */
static int
check_limit(struct layout *l, struct disk *d, const struct capture_what *o, struct err *e)
{
	uint64_t bytes = rangeset_total(&l->store) * SECTOR_BYTES;

	if (o->limit_mb == 0 || o->look_only || !disk_seekable(d) ||
	    bytes <= o->limit_mb << 20)
		return 0;
	return err_set(e, ERR_REFUSED,
	    "%s: %" PRIu64 " MiB would be stored, the limit is %" PRIu64 " MiB (-A)",
	    disk_name(d), (bytes >> 20) + 1, o->limit_mb);
}

/* Partitions have a grid of blocks of their own, as have the zones inside, which their
 * scans have added. */
static int
add_zones(struct layout *l, struct err *e)
{
	for (unsigned i = 0; i < l->nparts; i++) {
		const struct layout_part *p = &l->parts[i];
		struct range r = { p->sectors.off - l->base, p->sectors.len };
		/* a pipe is one zone */
		if (r.len != UINT64_MAX && cut_zones_add(&l->zones, r, e) != 0)
			return -1;
	}
	cut_zones_settle(&l->zones);
	return 0;
}

int
layout_find_holes(const struct layout *l, struct disk *d, struct range all, uint64_t least,
    struct rangeset *holes, struct err *e)
{
	uint64_t end = range_end(all) * SECTOR_BYTES, at = all.off * SECTOR_BYTES, data, hole;

	if (!disk_seekable(d))
		return 0;
	/* The last sector of a file may be short. */
	if (end > disk_size_bytes(d) / SECTOR_BYTES * SECTOR_BYTES)
		end = disk_size_bytes(d) / SECTOR_BYTES * SECTOR_BYTES;
	for (; at < end; at = hole) {
		disk_holes(d, at, &data, &hole);
		uint64_t from = (at + SECTOR_BYTES - 1) / SECTOR_BYTES;
		uint64_t to = (data < end ? data : end) / SECTOR_BYTES;
		if (to > from && to - from >= least &&
		    rangeset_add(holes, (struct range){ from - l->base, to - from }, e) != 0)
			return -1;
	}
	return 0;
}

/* Nothing is read of holes, nor of what is stored as zeros. */
static int
find_unread(struct layout *l, struct disk *d, struct err *e)
{
	struct range all = { l->base, l->total };

	if (l->total != UINT64_MAX &&
	    layout_find_holes(l, d, all, HOLE_SECTORS, &l->unread, e) != 0)
		return -1;
	rangeset_seal(&l->unread);
	return rangeset_union(&l->unread, &l->zero, e);
}

int
layout_make(struct layout *l, struct disk *d, const struct capture_what *o, struct err *e)
{
	struct rangeset skip;

	memset(l, 0, sizeof *l);
	rangeset_init(&l->store);
	rangeset_init(&l->zero);
	rangeset_init(&l->unread);
	rangeset_init(&l->table);
	rangeset_init(&l->filler);
	rangeset_init(&l->left_out);
	rangeset_init(&l->hot);
	rangeset_init(&skip);
	if (check_length(d, o, e) != 0)
		return -1;
	if (find_skips(l, d, o, &skip, e) != 0 || check_named(l, o, e) != 0 ||
	    bsdparts_check_used(l, o, e) != 0 || settle(l, o, &skip, e) != 0) {
		rangeset_free(&skip);
		layout_free(l);
		return -1;
	}
	if (rangeset_count(&l->store) == 0) {
		layout_free(l);
		return err_set(e, ERR_FORMAT, "%s: nothing to store", disk_name(d));
	}
	layout_note_reach(l, d, o);
	if (check_limit(l, d, o, e) != 0 || relocate_find(l, d, o, e) != 0 ||
	    find_unread(l, d, e) != 0 || add_zones(l, e) != 0) {
		layout_free(l);
		return -1;
	}
	return 0;
}

void
layout_free(struct layout *l)
{
	rangeset_free(&l->store);
	rangeset_free(&l->zero);
	rangeset_free(&l->unread);
	rangeset_free(&l->table);
	rangeset_free(&l->filler);
	rangeset_free(&l->left_out);
	rangeset_free(&l->hot);
	cut_zones_free(&l->zones);
	relocs_free(&l->relocs);
	blanks_free(&l->blanks);
}

bool
layout_has_table(const struct layout *l, struct range r)
{
	size_t i = rangeset_find(&l->table, r.off);

	return i < rangeset_count(&l->table) &&
	       rangeset_get(&l->table, i).off < range_end(r);
}

void
layout_describe(const struct layout *l, char *buf, size_t cap)
{
	size_t n = 0;

	buf[0] = '\0';
	for (unsigned i = 0; i < l->nparts && n < cap; i++)
		n += (size_t)snprintf(buf + n, cap - n, "%s%u:%s", i > 0 ? " " : "",
		    l->parts[i].number, l->parts[i].fs);
}
