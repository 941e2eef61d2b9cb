/* shrink.c: a disk as it would be if it were smaller.  imagezip/main.c calls this before the
 * capture, in the first thread; the capture reads the smaller disk in its own threads. */
#include "imagezip/shrink/shrink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/disk/ptable.h"
#include "common/layout/boot_place.h"
#include "imagezip/shrink/composite.h"
#include "imagezip/shrink/shrink_fs.h"
#include "imagezip/shrink/stays.h"

/* What the borders of partitions, and the end of a source without partitions, are multiples of. */
enum {
	ALIGN_BYTES = 1 << 20,
	ALIGN_SECTORS = ALIGN_BYTES / SECTOR_BYTES,
	UNIT_BYTES = 4096,
};

struct shrink {
	struct disk *source; /* borrowed */
	const struct shrink_how *how; /* borrowed */
	struct composite *composite;
	struct disk *smaller; /* NULL: not open */
	struct shrink_result result;
	/* One for each part of the result. */
	struct shrunk_fs fs[PTABLE_PARTS_MAX];
	const struct partition *order[PTABLE_PARTS_MAX];
	const char *why[PTABLE_PARTS_MAX];
};

/* Refuse a dynamic disk of Windows: its last volume need not end where the last partition does, and
 * the database of its volumes is at the end of the disk. */
static int
check_basic(const struct ptable *t, const struct disk *source, struct err *e)
{
	for (unsigned i = 0; i < t->nparts; i++)
		if (ptable_is_dynamic(&t->parts[i]))
			return err_set(e, ERR_UNSUPPORTED,
			    "%s: is a dynamic disk of Windows (LDM), which --shrink cannot make "
			    "smaller",
			    disk_name(source));
	return 0;
}

/* Refuse a disk on which a system is suspended: it goes on with what it knew of the
 * filesystem. */
static int
check_awake(const struct ptable *t, struct disk *source, struct err *e)
{
	char where[BEHIND_WHERE_CAP];

	if (!behind_suspended(source, t, where))
		return 0;
	return err_set(e, ERR_REFUSED,
	    "%s: a system is suspended %s, and goes on with the filesystems as they are: "
	    "--shrink would damage them",
	    disk_name(source), where);
}

/* Refuse to cut off what has an owner behind the last partition. */
static int
check_end(struct shrink *s, const struct ptable *t, struct err *e)
{
	struct range all = { 0, s->result.was_sectors };
	struct behind *b = &s->result.disks;
	char who[300];

	if (t->kind == PTABLE_NONE)
		return 0;
	if (behind_find(b, s->source, all, behind_partitions(t), &t->own, e) != 0)
		return -1;
	if (b->n == 0 || s->how->drop_end)
		return 0;
	return err_set(e, ERR_REFUSED,
	    "%s: --shrink would cut off %s behind the last partition; --outside=skip "
	    "leaves it out",
	    disk_name(s->source), behind_owned_text(b, who, sizeof who));
}

static int
by_place(const void *a, const void *b)
{
	const struct partition *x = *(const struct partition *const *)a,
			       *y = *(const struct partition *const *)b;

	if (x->sectors.off != y->sectors.off)
		return x->sectors.off < y->sectors.off ? -1 : 1;
	return range_end(x->sectors) < range_end(y->sectors) ? -1 : 1;
}

/* List the partitions as they lie on the disk; all of the disk when there is no table. */
static void
list(struct shrink *s, const struct ptable *t)
{
	static const struct partition whole = { .number = 0 };
	struct shrink_result *r = &s->result;

	for (unsigned i = 0; i < t->nparts; i++)
		s->order[i] = &t->parts[i];
	r->nparts = t->nparts;
	if (t->kind == PTABLE_NONE) {
		s->order[0] = &whole;
		r->nparts = 1;
	} else if (t->nparts > 0) {
		qsort(s->order, t->nparts, sizeof s->order[0], by_place);
	}
	for (unsigned i = 0; i < r->nparts; i++) {
		struct shrink_part *p = &r->parts[i];
		p->number = s->order[i]->number;
		p->was = p->number == 0 ? (struct range){ 0, r->was_sectors }
		                        : s->order[i]->sectors;
		p->is = p->was;
	}
}

/* Who claims the space between a partition and the one before it?  What has an owner stays there,
 * and so the partition does. */
static int
heed_gap(struct shrink *s, const struct ptable *t, unsigned i, struct err *e)
{
	struct shrink_part *p = &s->result.parts[i];
	uint64_t end = range_end(p[-1].was);

	if (p->was.off <= end)
		return 0;
	if (behind_find(&p->before, s->source, (struct range){ end, p->was.off - end }, 0,
		&t->own, e) != 0)
		return -1;
	if (p->before.n > 0)
		s->why[i] = "what lies in front of it has an owner";
	else if (s->how->keep_gaps)
		s->why[i] = "what lies between partitions is to be kept (--gaps=store)";
	return 0;
}

static void
leave_all(struct shrink *s)
{
	for (unsigned i = 0; i < s->result.nparts; i++)
		snprintf(s->result.parts[i].fs.left_alone,
		    sizeof s->result.parts[i].fs.left_alone,
		    "the table has partitions of type 0, logical ones out of order, or an "
		    "extended one without any");
}

/* Find the last partition that keeps its first sector: nothing is gained by making smaller
 * what lies in front of it. */
static int
find_first(struct shrink *s, const struct ptable *t, unsigned *first, struct err *e)
{
	*first = 0;
	if (t->kind == PTABLE_NONE)
		return 0;
	if (stays_all(t, s->order)) {
		leave_all(s);
		*first = s->result.nparts;
		return 0;
	}
	if (stays_find(s->why, s->source, t, s->order, e) != 0)
		return -1;
	for (unsigned i = 1; i < s->result.nparts; i++)
		if (s->why[i] == NULL && heed_gap(s, t, i, e) != 0)
			return -1;
	for (unsigned i = 1; i < s->result.nparts; i++)
		if (s->why[i] != NULL)
			*first = i;
	for (unsigned i = 0; i < *first; i++)
		snprintf(s->result.parts[i].fs.left_alone,
		    sizeof s->result.parts[i].fs.left_alone,
		    "partition %u behind it keeps its first sector: %s",
		    s->result.parts[*first].number, s->why[*first]);
	return 0;
}

static int
shrink_part(struct shrink *s, unsigned i, uint64_t align_bytes, struct err *e)
{
	struct shrink_part *p = &s->result.parts[i];
	const char *owner = p->number != 0 ? ptable_owner(s->order[i]) : NULL;

	if (owner != NULL)
		snprintf(p->fs.left_alone, sizeof p->fs.left_alone, "it belongs to %s",
		    owner);
	else if (p->number != 0 && stays_recovery(s->order[i]))
		snprintf(p->fs.left_alone, sizeof p->fs.left_alone,
		    "it is a recovery partition, whose updates need the room in it");
	else
		return shrink_fs(
		    &s->fs[i], s->source, p, s->how->spare_bytes, align_bytes, e);
	return 0;
}

static uint64_t
aligned(uint64_t sector)
{
	return (sector + ALIGN_SECTORS - 1) / ALIGN_SECTORS * ALIGN_SECTORS;
}

/* Move the partitions behind the first ones close together, but none away from the beginning
 * of the disk.  A logical one has its EBR in the MiB before it. */
static void
pack(struct shrink *s, unsigned first)
{
	for (unsigned i = first + 1; i < s->result.nparts; i++) {
		struct shrink_part *p = &s->result.parts[i];
		uint64_t to = aligned(range_end(p[-1].is));
		if (s->order[i]->logical)
			to += ALIGN_SECTORS;
		if (to < p->was.off)
			p->is.off = to;
		p->gap_left_out = p->is.off != p->was.off;
	}
}

/* Put the smaller disk together: up to the first partition that may be smaller, all is as it
 * was. */
static int
show(struct shrink *s, unsigned first, struct err *e)
{
	struct range begin = { 0, first < s->result.nparts ? s->result.parts[first].was.off
		                                           : s->result.was_sectors };

	if (composite_begin(&s->composite, disk_name(s->source), e) != 0 ||
	    composite_add(s->composite, begin, s->source, 0, e) != 0)
		return -1;
	for (unsigned i = first; i < s->result.nparts; i++) {
		struct shrink_part *p = &s->result.parts[i];
		struct disk *small = s->fs[i].disk;
		if (composite_add(s->composite, p->is, small != NULL ? small : s->source,
			small != NULL ? 0 : p->was.off, e) != 0)
			return -1;
	}
	return 0;
}

static int
tell_places(struct shrink *s, struct disk *composite, struct err *e)
{
	for (unsigned i = 0; i < s->result.nparts; i++) {
		const struct shrink_part *p = &s->result.parts[i];
		if (p->is.off != p->was.off && boot_place_adapt(composite, p->was, p->is, e) != 0)
			return -1;
	}
	return 0;
}

/* Write the table for the new places, where any is new. */
static int
place(struct shrink *s, const struct ptable *t, struct disk *composite, struct err *e)
{
	struct ptable_place places[PTABLE_PARTS_MAX];
	bool changed = false;

	for (unsigned i = 0; i < s->result.nparts; i++) {
		const struct shrink_part *p = &s->result.parts[i];
		places[i] = (struct ptable_place){ p->number, p->is };
		changed |= p->is.off != p->was.off || p->is.len != p->was.len;
	}
	if (!changed)
		return 0;
	return ptable_place(composite, s->source, t, places, s->result.nparts, e) == 0
	           ? tell_places(s, composite, e)
	           : -1;
}

/* End the disk behind its last partition. */
static int
cut(struct shrink *s, struct disk *composite, struct err *e)
{
	struct ptable t;
	int rc = ptable_read(&t, composite, e);

	if (rc == 0)
		rc = ptable_cut(composite, &t, 0, 0, &s->result.is_sectors, e);
	ptable_free(&t);
	if (s->result.is_sectors > s->result.was_sectors)
		s->result.is_sectors = s->result.was_sectors;
	return rc;
}

/* Write the table for the smaller disk. */
static int
write_table(struct shrink *s, const struct ptable *t, struct err *e)
{
	struct disk *composite;
	struct err ignored;

	if (t->kind == PTABLE_NONE) {
		s->result.is_sectors = s->result.parts[0].is.len;
		return 0;
	}
	if (composite_open(&composite, s->composite, s->result.was_sectors,
	    disk_sector_bytes(s->source),
		e) != 0)
		return -1;
	int rc = place(s, t, composite, e);
	if (rc == 0)
		rc = cut(s, composite, e);
	disk_close(composite, &ignored); /* what was written is in memory */
	return rc;
}

static int
shrink_table(struct shrink *s, struct ptable *t, struct err *e)
{
	unsigned first = 0;

	if (check_basic(t, s->source, e) != 0 || check_awake(t, s->source, e) != 0)
		return -1;
	/* The boot sector of FAT and NTFS looks like an MBR without partitions. */
	if (t->kind == PTABLE_MBR && t->nparts == 0)
		t->kind = PTABLE_NONE;
	if (check_end(s, t, e) != 0)
		return -1;
	list(s, t);
	if (find_first(s, t, &first, e) != 0)
		return -1;
	for (unsigned i = first; i < s->result.nparts; i++)
		if (shrink_part(s, i, t->kind == PTABLE_NONE ? UNIT_BYTES : ALIGN_BYTES, e) != 0)
			return -1;
	pack(s, first);
	if (show(s, first, e) != 0 || write_table(s, t, e) != 0)
		return -1;
	return composite_open(&s->smaller, s->composite, s->result.is_sectors,
	    disk_sector_bytes(s->source), e);
}

static int
make(struct shrink *s, struct err *e)
{
	struct ptable t = { .kind = PTABLE_NONE };

	if (!s->how->bare && ptable_read(&t, s->source, e) != 0)
		return -1;
	int rc = shrink_table(s, &t, e);
	ptable_free(&t);
	return rc;
}

int
shrink_begin(struct shrink **out, struct disk *source, const struct shrink_how *how,
    struct err *e)
{
	if (!disk_seekable(source) || disk_fd(source) < 0)
		return err_set(e, ERR_UNSUPPORTED,
		    "%s: --shrink needs a file or a block device", disk_name(source));
	struct shrink *s = calloc(1, sizeof *s);
	if (s == NULL)
		return err_nomem(e, "--shrink");
	s->source = source;
	s->how = how;
	s->result.was_sectors = disk_size_bytes(source) / SECTOR_BYTES;
	if (make(s, e) != 0) {
		shrink_end(s);
		return -1;
	}
	*out = s;
	return 0;
}

struct disk *
shrink_disk(struct shrink *s)
{
	return s->smaller;
}

const struct shrink_result *
shrink_result(const struct shrink *s)
{
	return &s->result;
}

void
shrink_end(struct shrink *s)
{
	struct err ignored; /* only read: nothing to lose */

	if (s == NULL)
		return;
	if (s->smaller != NULL)
		disk_close(s->smaller, &ignored);
	composite_end(s->composite);
	for (unsigned i = 0; i < s->result.nparts; i++)
		shrink_fs_end(&s->fs[i]);
	free(s);
}
