#include "imagezip/layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fsmods/foreign.h"
#include "fsmods/fsmod.h"
#include "fsmods/recognise.h"
#include "fsmods/sectorsize.h"
#include "imagezip/bootimage.h"
#include "imagezip/bsdparts.h"
#include "imagezip/relocate.h"

/* Boot loaders live in front of the first partition: GRUB's up to sector 2048, those
 * of small boards (U-Boot at 8 KiB, 32 KiB, 8 MiB) up to 32768, on disks with a GPT,
 * too.  Zeros there cost next to nothing. */
enum { BOOT_SECTORS = 32768 };

/* -M.  What cannot be told apart is stored as it is. */
static int
find_blanks(struct layout *l, struct disk *d, const struct layout_part *p,
    struct fs_scan *fs, struct rangeset *raw, struct err *e)
{
	size_t before = l->blanks.n, said = strlen(fs->warning);

	if (blanks_find(&l->blanks, fs->mod, d, p->sectors, p->sectors.off - l->base,
		raw, e) == 0)
		return 0;
	l->blanks.n = before;
	if (e->kind == ERR_NOMEM)
		return -1;
	snprintf(fs->warning + said, sizeof fs->warning - said,
	    "%sits free inodes are stored as they are: %.200s", said > 0 ? "; " : "",
	    e->text);
	return 0;
}

/* What the options change of a scan. */
static int
adjust_scan(struct layout *l, struct disk *d, const struct options *o,
    const struct layout_part *p, struct fs_scan *fs, struct err *e)
{
	struct rangeset raw;

	rangeset_init(&raw);
	int rc = bsdparts_apply(fs, &raw, d, p->sectors, p->number, o, e);
	if (rc == 0 && o->blank_inodes && !fs->failed)
		rc = find_blanks(l, d, p, fs, &raw, e);
	rangeset_free(&raw);
	return rc;
}

/* Scan one partition into *skip, which is relative to the image. */
static int
scan_part(struct layout *l, struct disk *d, const struct options *o,
    struct layout_part *p, struct rangeset *skip, struct err *e)
{
	struct fs_scan fs;
	uint64_t at = p->sectors.off - l->base;
	const struct fsmod *mod = fsmods_probe(d, p->sectors);
	bool of_table = p->number != 0;

	if ((of_table ? fsmods_scan_volume : fsmods_scan_found)(
		mod, d, p->sectors, &fs, e) != 0)
		return -1;
	snprintf(p->fs, sizeof p->fs, "%s", fs.mod != NULL ? fs.mod->name : "raw");
	int rc = adjust_scan(l, d, o, p, &fs, e);
	snprintf(p->warning, sizeof p->warning, "%s", fs.warning);
	if (fs.mod == NULL)
		snprintf(p->warning, sizeof p->warning,
		    "%s: every sector is stored", recognise(d, p->sectors).text);
	for (size_t i = 0; i < rangeset_count(&fs.skip) && rc == 0; i++) {
		struct range r = rangeset_get(&fs.skip, i);
		rc = rangeset_add(skip, (struct range){ at + r.off, r.len }, e);
	}
	for (size_t i = 0; i < rangeset_count(&fs.zero) && rc == 0; i++) {
		struct range r = rangeset_get(&fs.zero, i);
		rc = rangeset_add(&l->zero, (struct range){ at + r.off, r.len }, e);
	}
	if (rc == 0 && o->exclude_slack && fs.fs_end < p->sectors.len)
		rc = rangeset_add(skip,
		    (struct range){
			at + fs.fs_end, tail_slack(d, p->sectors, fs.fs_end) },
		    e);
	fs_scan_free(&fs);
	return rc;
}

static struct layout_part *
add_part(struct layout *l, unsigned number, struct range sectors)
{
	struct layout_part *p = &l->parts[l->nparts++];

	*p = (struct layout_part){ .number = number, .sectors = sectors };
	return p;
}

static uint64_t
source_sectors(struct disk *d)
{
	return disk_size_bytes(d) / SECTOR_BYTES;
}

/* One partition of a table: ignored, raw, or scanned. */
static int
table_part(struct layout *l, struct disk *d, const struct options *o,
    const struct ptable *t, const struct partition *p, struct rangeset *skip,
    struct err *e)
{
	struct layout_part *lp = add_part(l, p->number, p->sectors);

	ptable_type_name(t, p, lp->type, sizeof lp->type);
	lp->mbr_type = p->mbr_type;
	bool apart = o->boot_root != 0 && !bootimage_has(p, (unsigned)o->boot_root);
	if (o->ignore.whole[p->number] || apart) {
		strcpy(lp->fs, "ignored");
		return rangeset_add(skip,
		    (struct range){ p->sectors.off - l->base, p->sectors.len }, e);
	}
	if (o->force_raw.whole[p->number]) {
		strcpy(lp->fs, "raw");
		return 0;
	}
	return scan_part(l, d, o, lp, skip, e);
}

/* What lies between partitions. */
static int
skip_gaps(
    const struct ptable *t, struct range all, struct rangeset *skip, struct err *e)
{
	struct rangeset gaps, parts;

	rangeset_init(&gaps);
	rangeset_init(&parts);
	int rc = rangeset_add(&gaps, all, e);
	for (unsigned i = 0; i < t->nparts && rc == 0; i++)
		rc = rangeset_add(&parts, t->parts[i].sectors, e);
	if (rc == 0)
		rc = rangeset_minus(&gaps, &parts, e);
	if (rc == 0)
		rc = rangeset_union(skip, &gaps, e);
	rangeset_free(&gaps);
	rangeset_free(&parts);
	return rc;
}

/* The end of the boot loader's space, in front of the first partition. */
static uint64_t
boot_end(const struct ptable *t)
{
	return t->kind == PTABLE_GPT && t->usable.off > BOOT_SECTORS ? t->usable.off
	                                                             : BOOT_SECTORS;
}

/* The space of a disk that no partition has: before the first one and behind the
 * last one, and between them. */
static int
skip_outside(const struct ptable *t, uint64_t total, const struct options *o,
    struct rangeset *skip, struct err *e)
{
	uint64_t first = UINT64_MAX, end = 0, from = boot_end(t);

	for (unsigned i = 0; i < t->nparts; i++) {
		struct range r = t->parts[i].sectors;
		first = r.off < first ? r.off : first;
		end = range_end(r) > end ? range_end(r) : end;
	}
	if (o->skip_gaps && first < end &&
	    skip_gaps(t, (struct range){ first, end - first }, skip, e) != 0)
		return -1;
	if (o->store_outside)
		return 0;
	if (first != UINT64_MAX && from < first &&
	    rangeset_add(skip, (struct range){ from, first - from }, e) != 0)
		return -1;
	end = end > from ? end : from;
	return end < total ? rangeset_add(skip, (struct range){ end, total - end }, e)
	                   : 0;
}

/* Of that space, what is kept all the same: the table's own sectors, wherever they
 * lie, and the disk's tail. */
static int
leave_outside(struct layout *l, struct disk *d, const struct options *o,
    const struct ptable *t, struct rangeset *own, struct rangeset *skip, struct err *e)
{
	struct tail_search s = { .table = t,
		.own = own,
		.total = l->total,
		.boot_end = boot_end(t),
		.keep = !o->skip_outside && o->boot_root == 0 };
	bool end = !o->store_outside && (o->count == 0 || o->count >= l->total);
	struct rangeset outside;

	rangeset_init(&outside);
	int rc = skip_outside(t, l->total, o, &outside, e);
	if (rc == 0)
		rc = rangeset_minus(&outside, own, e);
	if (rc == 0 && end)
		rc = tail_find(&l->outside, d, &s, &outside, e);
	if (rc == 0)
		rc = rangeset_union(skip, &outside, e);
	rangeset_free(&outside);
	return rc;
}

static int
check_numbers(const bool set[], const char *option, const struct ptable *t,
    struct disk *d, struct err *e)
{
	for (unsigned n = 1; n <= PTABLE_PARTS_MAX; n++)
		if (set[n] && ptable_find(t, n) == NULL)
			return err_set(e, ERR_USAGE, "%s %u: %s has no such partition",
			    option, n, disk_name(d));
	return 0;
}

/* What is stored outside of partitions. */
static int
lay_outside(struct layout *l, struct disk *d, const struct options *o,
    const struct ptable *t, struct rangeset *skip, struct err *e)
{
	struct ptable copy = *t; /* for its own-set, which sorts itself */
	struct rangeset own;

	rangeset_init(&own);
	int rc = rangeset_union(&own, &copy.own, e);
	if (rc == 0)
		rc = tail_drop_missing_backup(&own, t, d, l->total, e);
	if (rc == 0)
		rc = leave_outside(l, d, o, t, &own, skip, e);
	/* Wherever the table's own sectors lie, they are stored. */
	if (rc == 0)
		rc = rangeset_minus(&l->zero, &own, e);
	if (rc == 0)
		rc = rangeset_union(&l->table, &own, e);
	if (rc == 0)
		rc = rangeset_minus(skip, &own, e);
	rangeset_free(&own);
	return rc;
}

static int
layout_disk(struct layout *l, struct disk *d, const struct options *o,
    const struct ptable *t, struct rangeset *skip, struct err *e)
{
	l->kind = EXT_KIND_DISK;
	l->total = source_sectors(d);
	if (check_numbers(o->ignore.whole, "-I", t, d, e) != 0 ||
	    check_numbers(o->force_raw.whole, "-R", t, d, e) != 0)
		return -1;
	for (unsigned i = 0; i < t->nparts; i++)
		if (table_part(l, d, o, t, &t->parts[i], skip, e) != 0)
			return -1;
	if (lay_outside(l, d, o, t, skip, e) != 0)
		return -1;
	return o->boot_root == 0
	           ? 0
	           : bootimage_table(&l->relocs, d, t, (unsigned)o->boot_root, e);
}

static int
layout_slice(struct layout *l, struct disk *d, const struct options *o,
    const struct ptable *t, struct rangeset *skip, struct err *e)
{
	const struct partition *p = ptable_find(t, (unsigned)o->slice);

	if (p == NULL)
		return err_set(e, ERR_USAGE, "-s %" PRIu64 ": %s has no such partition",
		    o->slice, disk_name(d));
	l->kind = EXT_KIND_PARTITION;
	l->base = p->sectors.off;
	l->total = p->sectors.len;
	return table_part(l, d, o, t, p, skip, e);
}

/* A bare partition; with -S of a type that no module is for, raw. */
static int
layout_bare(struct layout *l, struct disk *d, const struct options *o,
    struct rangeset *skip, struct err *e)
{
	l->kind = EXT_KIND_PARTITION;
	l->total = source_sectors(d);
	struct layout_part *p = add_part(l, 0, (struct range){ 0, l->total });
	return scan_part(l, d, o, p, skip, e);
}

static void
layout_raw(struct layout *l, struct disk *d, const struct options *o)
{
	uint64_t bytes = disk_size_bytes(d);

	l->kind = EXT_KIND_FILE;
	l->total = bytes == UINT64_MAX ? UINT64_MAX
	                               : (bytes + SECTOR_BYTES - 1) / SECTOR_BYTES;
	struct layout_part *p = add_part(l, 0, (struct range){ 0, l->total });
	strcpy(p->fs, "raw");
	(void)o;
}

/* Neither -r, -l nor -s: what is it? */
static int
layout_detect(struct layout *l, struct disk *d, const struct options *o,
    const struct ptable *t, struct rangeset *skip, struct err *e)
{
	const struct fsmod *fs = fsmods_probe(
	    d, (struct range){ 0, source_sectors(d) });

	/* A disklabel where a partition table is, too: the table counts. */
	if (fs != NULL && fs->container && t->nparts > 0)
		fs = NULL;
	if (o->linux_partition || o->has_type ||
	    (fs != NULL && t->nparts == 0 && !o->whole_disk))
		return layout_bare(l, d, o, skip, e);
	if (fs != NULL && t->nparts > 0 && !o->whole_disk)
		return err_set(e, ERR_USAGE,
		    "%s: has a partition table and a %s at its start: say "
		    "--disk, -l (or -S type), or -r",
		    disk_name(d), fs->title);
	const char *member = o->whole_disk || t->nparts == 0
	                         ? NULL
	                         : foreign_find(
				       d, (struct range){ 0, source_sectors(d) });
	if (member != NULL)
		return err_set(e, ERR_USAGE,
		    "%s: has a partition table and is %s: say --disk, -l (or -S "
		    "type), or -r",
		    disk_name(d), member);
	if (t->kind != PTABLE_NONE && t->nparts > 0)
		return layout_disk(l, d, o, t, skip, e);
	if (o->whole_disk && t->kind == PTABLE_NONE)
		return err_set(
		    e, ERR_USAGE, "%s: has no partition table", disk_name(d));
	layout_raw(l, d, o);
	l->kind = EXT_KIND_DISK;
	snprintf(l->parts[0].warning, sizeof l->parts[0].warning,
	    "no partitions, and %s: every sector is stored",
	    recognise(d, (struct range){ 0, source_sectors(d) }).text);
	return 0;
}

static int
find_skips(struct layout *l, struct disk *d, const struct options *o,
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
	/* A bare partition may hold what looks like a table; it is not asked. */
	bool bare = o->linux_partition || o->has_type;
	if (bare)
		return layout_bare(l, d, o, skip, e);
	if (ptable_read(&t, d, e) != 0)
		return err_ctx(
		    e, "-r stores it whole, -l or -S takes it as one partition");
	snprintf(l->warning, sizeof l->warning, "%s", t.warning);
	int rc = sectorsize_check(d, &t, e);
	if (rc != 0)
		err_ctx(e, "-r stores it whole");
	else
		rc = o->slice != 0 ? layout_slice(l, d, o, &t, skip, e)
		                   : layout_detect(l, d, o, &t, skip, e);
	ptable_free(&t);
	return rc;
}

static int
check_length(struct disk *d, const struct options *o, struct err *e)
{
	uint64_t bytes = disk_size_bytes(d);

	if (bytes == UINT64_MAX || bytes % SECTOR_BYTES == 0 || o->any_length)
		return 0;
	return err_set(e, ERR_USAGE,
	    "%s: its length, %" PRIu64 " bytes, is not a multiple of 512; -f "
	    "stores it as a file",
	    disk_name(d), bytes);
}

/* -I and -R of what has no partitions would be passed over in silence, and what was to
 * be left out would be in the image. */
static int
check_named(const struct layout *l, const struct options *o, struct err *e)
{
	if (l->parts[0].number != 0)
		return 0; /* layout_disk() has looked for them */
	for (unsigned n = 1; n <= PTABLE_PARTS_MAX; n++)
		if (o->ignore.whole[n] || o->force_raw.whole[n])
			return err_set(e, ERR_USAGE,
			    "%s %u: %s is not taken as a disk with partitions",
			    o->ignore.whole[n] ? "-I" : "-R", n, o->source);
	return 0;
}

/* What is skipped becomes what is stored: short free ranges stay in, and with
 * -Z are remembered as zeros. */
static int
settle(struct layout *l, const struct options *o, struct rangeset *skip, struct err *e)
{
	uint64_t end = l->total;

	if (o->count != 0 && o->count < l->total) {
		end = l->total = o->count;
		rangeset_clip(skip, 0, end);
		rangeset_clip(&l->zero, 0, end);
	}
	/* Overlapping partitions: what one of them wants as zeros is stored. */
	if (rangeset_minus(skip, &l->zero, e) != 0)
		return -1;
	if (o->zero_small) {
		if (rangeset_union(&l->zero, skip, e) != 0)
			return -1;
	}
	rangeset_drop_short(skip, o->min_free);
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
	tail_settle(&l->outside, &l->store);
	return 0;
}

/* -A; with -i the user wants to see why.  What a pipe has shows while it is read. */
static int
check_limit(struct layout *l, struct disk *d, const struct options *o, struct err *e)
{
	uint64_t bytes = rangeset_total(&l->store) * SECTOR_BYTES;

	if (o->limit_mb == 0 || o->info || !disk_seekable(d) ||
	    bytes <= o->limit_mb << 20)
		return 0;
	return err_set(e, ERR_REFUSED,
	    "%s: %" PRIu64 " MB would be stored, the limit is %" PRIu64 " MB (-A)",
	    disk_name(d), (bytes >> 20) + 1, o->limit_mb);
}

int
layout_make(struct layout *l, struct disk *d, const struct options *o, struct err *e)
{
	struct rangeset skip;

	memset(l, 0, sizeof *l);
	rangeset_init(&l->store);
	rangeset_init(&l->zero);
	rangeset_init(&l->table);
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
	if (check_limit(l, d, o, e) != 0 || relocate(l, d, o, e) != 0) {
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
	rangeset_free(&l->table);
	relocs_free(&l->relocs);
	blanks_free(&l->blanks);
}

bool
layout_has_table(struct layout *l, struct range r)
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
