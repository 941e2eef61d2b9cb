/* shrink.c: a disk as it would be if it were smaller.  imagezip/main.c calls this before the
 * capture, in the first thread; the capture reads the smaller disk in its own threads. */
#include "imagezip/shrink/shrink.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/disk/ptable.h"
#include "imagezip/shrink/view.h"

/* What the ends of partitions, and of a source without partitions, are multiples of. */
enum { ALIGN_BYTES = 1 << 20, UNIT_BYTES = 4096 };

struct shrink {
	struct disk *source; /* borrowed */
	const struct shrink_how *how; /* borrowed */
	struct view *view;
	struct disk *shown; /* all of the view; NULL: not open */
	struct disk *smaller; /* the beginning of it; NULL: not open */
	struct shrink_result result;
};

static ssize_t
read_shown(void *ctx, void *buf, size_t len, uint64_t off)
{
	struct shrink *s = ctx;
	uint64_t end = s->result.is_sectors * SECTOR_BYTES;
	struct err e;

	if (off >= end)
		return 0;
	if (len > end - off)
		len = (size_t)(end - off);
	return disk_read_upto(s->shown, buf, len, off, &e);
}

/* The last partition, as it lies on the disk; all of the disk when there is none. */
static struct partition
last_partition(const struct ptable *t, uint64_t disk_sectors)
{
	const struct partition *last = ptable_last(t);

	return last != NULL
	           ? *last
	           : (struct partition){ .number = 0, .sectors = { 0, disk_sectors } };
}

static struct range
in_bytes(struct range sectors)
{
	return (struct range){ sectors.off * SECTOR_BYTES, sectors.len * SECTOR_BYTES };
}

/* How many sectors the partition needs now; no more than it has. */
static uint64_t
sectors_needed(const struct shrink *s, struct range sectors, uint64_t align_bytes)
{
	uint64_t bytes = s->result.fs.is_bytes;

	if (s->result.fs.left_alone[0] != '\0' || bytes > sectors.len * SECTOR_BYTES)
		return sectors.len;
	uint64_t needed =
	    (bytes + align_bytes - 1) / align_bytes * (align_bytes / SECTOR_BYTES);
	return needed < sectors.len ? needed : sectors.len;
}

/* Who claims the space behind the filesystem?  What has an owner goes with the filesystem
 * as it is now: a hash tree is of all its blocks. */
static int
heed_part_claims(struct shrink *s, struct range part, struct err *e)
{
	struct resize *fs = &s->result.fs;
	struct behind *b = &s->result.parts;
	uint64_t end = (fs->was_bytes + SECTOR_BYTES - 1) / SECTOR_BYTES;
	char who[160];

	if (end == 0) /* its tool makes nothing smaller */
		return 0;
	if (behind_find(b, s->source, part, end, NULL, e) != 0)
		return -1;
	if (b->n > 0)
		snprintf(fs->left_alone, sizeof fs->left_alone, "%s lies behind it",
		    behind_owned_text(b, who, sizeof who));
	return 0;
}

/* Let the filesystem's tool work on the file that shows the partition. */
static int
shrink_shown(struct shrink *s, const char *file, struct range part, struct err *e)
{
	struct resize *fs = &s->result.fs;

	if (resize_look(file, fs, e) != 0 || heed_part_claims(s, part, e) != 0)
		return -1;
	return s->result.parts.n > 0 ? 0
	                             : resize_shrink(file, s->how->spare_bytes, fs, e);
}

/* Let the filesystem's tool work on the partition in the view, and then on what becomes of the
 * partition, which is *sectors afterwards. */
static int
shrink_fs(struct shrink *s, struct range *sectors, uint64_t align_bytes, struct err *e)
{
	const char *file;
	int rc = view_show(s->view, in_bytes(*sectors), &file, e);

	if (rc == 0)
		rc = shrink_shown(s, file, *sectors, e);
	view_hide(s->view);
	if (rc != 0)
		return -1;
	sectors->len = sectors_needed(s, *sectors, align_bytes);
	/* What lies behind the new end is cut off. */
	uint64_t end = range_end(*sectors);
	s->result.parts.unknown = range_clip(s->result.parts.unknown, end, UINT64_MAX);
	rc = view_show(s->view, in_bytes(*sectors), &file, e);
	if (rc == 0)
		rc = resize_settle(file, &s->result.fs, e);
	view_hide(s->view);
	return rc;
}

/* End the partition behind the filesystem, and the disk behind the partition. */
static int
cut(struct shrink *s, const struct ptable *t, const struct partition *p, struct err *e)
{
	const struct partition *was = ptable_find(t, p->number);

	if (t->kind == PTABLE_NONE) {
		s->result.is_sectors = p->sectors.len;
		return 0;
	}
	bool shorter = was != NULL && p->sectors.len < was->sectors.len;
	if (ptable_cut(s->shown, t, shorter ? p->number : 0, p->sectors.len,
		&s->result.is_sectors, e) != 0)
		return -1;
	if (s->result.is_sectors > s->result.was_sectors)
		s->result.is_sectors = s->result.was_sectors;
	return 0;
}

static int
show_smaller(struct shrink *s, struct disk *source, const struct ptable *t,
    const struct partition *p, struct err *e)
{
	static const struct disk_ops ops = { .pread = read_shown };
	const char *file;

	if (view_show(s->view, in_bytes((struct range){ 0, s->result.was_sectors }), &file,
		e) != 0 ||
	    disk_open(&s->shown, file, DISK_READ | DISK_WRITE, e) != 0 ||
	    cut(s, t, p, e) != 0 || disk_sync(s->shown, e) != 0)
		return -1;
	if (disk_open_ops(&s->smaller, disk_name(source), DISK_FILE,
		s->result.is_sectors * SECTOR_BYTES, &ops, s, e) != 0)
		return -1;
	disk_set_sector_bytes(s->smaller, disk_sector_bytes(source));
	return 0;
}

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
shrink_table(struct shrink *s, struct ptable *t, struct err *e)
{
	struct disk *source = s->source;

	if (check_basic(t, source, e) != 0 || check_awake(t, source, e) != 0)
		return -1;
	/* The boot sector of FAT and NTFS looks like an MBR without partitions. */
	if (t->kind == PTABLE_MBR && t->nparts == 0)
		t->kind = PTABLE_NONE;
	if (check_end(s, t, e) != 0)
		return -1;
	struct partition p = last_partition(t, s->result.was_sectors);
	s->result.partition = p.number;
	/* A GPT without a partition has nothing to make smaller: only the disk is cut. */
	bool has_fs = p.number != 0 || t->kind == PTABLE_NONE;
	const char *owner = p.number != 0 ? ptable_owner(&p) : NULL;
	int rc = view_open(&s->view, disk_name(source), e);
	if (rc == 0 && owner != NULL)
		snprintf(s->result.fs.left_alone, sizeof s->result.fs.left_alone,
		    "it belongs to %s", owner);
	else if (rc == 0 && has_fs && !p.logical)
		rc = shrink_fs(
		    s, &p.sectors, t->kind == PTABLE_NONE ? UNIT_BYTES : ALIGN_BYTES, e);
	else if (rc == 0)
		snprintf(s->result.fs.left_alone, sizeof s->result.fs.left_alone,
		    has_fs ? "it is a logical partition" : "there is no partition");
	return rc == 0 ? show_smaller(s, source, t, &p, e) : -1;
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
	struct err ignored; /* the view is not kept, so no write to it matters */

	if (s == NULL)
		return;
	if (s->smaller != NULL)
		disk_close(s->smaller, &ignored);
	if (s->shown != NULL)
		disk_close(s->shown, &ignored);
	view_close(s->view);
	free(s);
}
