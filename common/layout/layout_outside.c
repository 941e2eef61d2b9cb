/* layout_outside.c: decides what is stored of the space outside of partitions: the table,
 * boot loaders in front of the first partition, the disk's tail, and what is recognised.
 * layout.c calls this for whole disks, in imagezip's first thread. */
#include "common/layout/layout_impl.h"

/* Boot loaders live in front of the first partition: GRUB up to sector 2048, those of
 * small boards (U-Boot at 8 KiB, 32 KiB, 8 MiB) up to sector 32768, also on disks with a
 * GPT. Zeros there cost next to nothing. */
enum { BOOT_SECTORS = 32768 };

/* A hole of this size between partitions, of a file or a thin disk, is no data that anybody has put
 * there: as zeros it would need 1 MB of image and seconds for each GB. */
enum { GAP_HOLE_SECTORS = (1 << 30) / SECTOR_BYTES };

/* Skip what lies between partitions; of `holes`, unless that is NULL. */
static int
skip_gaps(const struct ptable *t, struct range all, const struct rangeset *holes,
    struct rangeset *skip, struct err *e)
{
	struct rangeset gaps, parts;

	rangeset_init(&gaps);
	rangeset_init(&parts);
	int rc = rangeset_add(&gaps, all, e);
	rangeset_seal(&gaps);
	if (rc == 0 && holes != NULL)
		rc = rangeset_intersect(&gaps, holes, e);
	for (unsigned i = 0; i < t->nparts && rc == 0; i++)
		rc = rangeset_add(&parts, t->parts[i].sectors, e);
	rangeset_seal(&parts);
	if (rc == 0)
		rc = rangeset_minus(&gaps, &parts, e);
	if (rc == 0)
		rc = rangeset_union(skip, &gaps, e);
	rangeset_free(&gaps);
	rangeset_free(&parts);
	return rc;
}

/* Skip the large holes of what lies between partitions. */
static int
skip_gap_holes(const struct layout *l, struct disk *d, const struct ptable *t,
    struct range all, struct rangeset *skip, struct err *e)
{
	struct rangeset holes;

	rangeset_init(&holes);
	int rc = layout_find_holes(l, d, all, GAP_HOLE_SECTORS, &holes, e);
	rangeset_seal(&holes);
	if (rc == 0 && rangeset_count(&holes) > 0)
		rc = skip_gaps(t, all, &holes, skip, e);
	rangeset_free(&holes);
	return rc;
}

static int
decide_gaps(const struct layout *l, struct disk *d, const struct ptable *t,
    const struct capture_what *o, struct range all, struct rangeset *skip, struct err *e)
{
	return o->skip_gaps    ? skip_gaps(t, all, NULL, skip, e)
	       : o->store_gaps ? 0
	                       : skip_gap_holes(l, d, t, all, skip, e);
}

/* The end of the boot loader's space, in front of the first partition. */
static uint64_t
boot_end(const struct ptable *t)
{
	return t->kind == PTABLE_GPT && t->usable.off > BOOT_SECTORS ? t->usable.off
	                                                             : BOOT_SECTORS;
}

/* Skip the space that no partition has: before the first one, behind the last one, and
 * between them. */
static int
skip_outside(const struct layout *l, struct disk *d, const struct ptable *t,
    const struct capture_what *o, struct rangeset *skip, struct err *e)
{
	uint64_t first = UINT64_MAX, end = 0, from = boot_end(t);

	for (unsigned i = 0; i < t->nparts; i++) {
		struct range r = t->parts[i].sectors;
		first = r.off < first ? r.off : first;
		end = range_end(r) > end ? range_end(r) : end;
	}
	if (first < end &&
	    decide_gaps(l, d, t, o, (struct range){ first, end - first }, skip, e) != 0)
		return -1;
	if (o->store_outside)
		return 0;
	if (first != UINT64_MAX && from < first &&
	    rangeset_add(skip, (struct range){ from, first - from }, e) != 0)
		return -1;
	end = end > from ? end : from;
	return end < l->total
	           ? rangeset_add(skip, (struct range){ end, l->total - end }, e)
	           : 0;
}

/* Skip partitions that are left out like gaps; boot loaders may lie at the disk's
 * beginning. */
static int
skip_vacant(const struct layout *l, uint64_t from, struct rangeset *skip, struct err *e)
{
	int rc = 0;

	for (unsigned i = 0; i < l->nparts && rc == 0; i++) {
		struct range r = range_clip(l->parts[i].sectors, from, UINT64_MAX);
		if (l->parts[i].vacant && r.len != 0)
			rc = rangeset_add(skip, r, e);
	}
	return rc;
}

/* Look at what would be left out: keep what is recognised and the disk's tail, and read a
 * sample of the rest. */
static int
look_outside(struct layout *l, struct disk *d, const struct capture_what *o,
    const struct ptable *t, const struct rangeset *own, struct rangeset *outside,
    struct err *e)
{
	const struct partition *last = ptable_last(t);
	struct strays *strays = &l->outside.strays;
	bool all = o->count == 0 || o->count >= l->total;
	struct disk_tail_search s = { .floor = last != NULL ? range_end(last->sectors) : 0,
		.own = own,
		.total = l->total,
		.boot_end = boot_end(t),
		.keep = !o->skip_outside && o->boot_root == 0 };
	bool look = all && o->boot_root == 0, end = all && !o->store_outside;
	int rc = look ? strays_recognise(strays, d, t, l->total, s.keep, outside, e) : 0;

	if (s.floor < strays->floor)
		s.floor = strays->floor;
	if (rc == 0 && end)
		rc = disk_tail_find(&l->outside, d, &s, outside, e);
	if (rc == 0 && look)
		strays_sample(strays, d, outside, end ? disk_tail_looked_from(&s) : l->total);
	return rc;
}

/* Keep the parts of that space that are always stored: the table's own sectors,
 * wherever they are, and what look_outside() finds. */
static int
leave_outside(struct layout *l, struct disk *d, const struct capture_what *o,
    const struct ptable *t, const struct rangeset *own, struct rangeset *skip,
    struct err *e)
{
	struct rangeset outside;

	rangeset_init(&outside);
	int rc = skip_outside(l, d, t, o, &outside, e);
	if (rc == 0)
		rc = skip_vacant(l, boot_end(t), &outside, e);
	if (rc == 0)
		rc = rangeset_minus(&outside, own, e);
	if (rc == 0)
		rc = look_outside(l, d, o, t, own, &outside, e);
	if (rc == 0)
		rc = rangeset_union(skip, &outside, e);
	rangeset_free(&outside);
	return rc;
}

/* Decide what is stored outside of partitions. */
int
layout_outside(struct layout *l, struct disk *d, const struct capture_what *o,
    const struct ptable *t, struct rangeset *skip, struct err *e)
{
	struct rangeset own;

	rangeset_init(&own);
	int rc = rangeset_union(&own, &t->own, e);
	if (rc == 0)
		rc = disk_tail_drop_missing_backup(&own, t, d, l->total, e);
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
