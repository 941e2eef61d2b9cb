/* room.c: finds the place for a sector table on the disk that it describes.  streamed_open.c calls
 * this in one thread.
 *
 * The place is behind the last partition, or in front of the first, where the image stores
 * nothing: in a filesystem's free space the running system would write over it. */
#include <inttypes.h>

#include "common/disk/ptable.h"
#include "stream/disk/streamed_impl.h"

enum {
	ALIGN_SECTORS = 8, /* the table consists of frames of 4 KiB */
	/* The end of a disk is left alone: programs that enlarge a GPT put its backup there, in
	 * up to 48 sectors. */
	END_SECTORS = 64,
};

/* What is taken of the disk, and where its partitions are. */
struct taken {
	struct rangeset sectors;
	uint64_t first, last; /* the first partition's begin, the last one's end */
};

/* Without a partition table that can be read, all of the image's disk is taken. */
static int
take_partitions(struct taken *t, const struct ptable *p, uint64_t sectors, struct err *e)
{
	bool none = p == NULL || p->nparts == 0;

	t->first = none ? 0 : UINT64_MAX;
	t->last = none ? sectors : 0;
	for (unsigned i = 0; !none && i < p->nparts; i++) {
		struct range r = p->parts[i].sectors;
		t->first = r.off < t->first ? r.off : t->first;
		t->last = range_end(r) > t->last ? range_end(r) : t->last;
	}
	if (none)
		return 0;
	if (p->usable.off > 0 &&
	    rangeset_add(&t->sectors, (struct range){ 0, p->usable.off }, e) != 0)
		return -1;
	return rangeset_union(&t->sectors, &p->own, e);
}

/* The disk of the image, for a reader of partition tables.  A sector that cannot be read says nothing
 * about the table. */
struct image_disk {
	struct disk *disk;
	bool failed; /* something could not be read */
};

static int
view_read(void *ctx, void *buf, size_t len, uint64_t off, struct err *e)
{
	struct image_disk *i = ctx;
	int rc = disk_read(i->disk, buf, len, off, e);

	i->failed |= rc != 0;
	return rc;
}

static int
read_partitions(struct ptable *p, struct image_disk *i, struct err *e)
{
	static const struct disk_ops ops = { .read = view_read };
	struct disk *view;
	struct err ignored;

	if (disk_open_view(&view, i->disk, &ops, i, e) != 0)
		return -1;
	int rc = ptable_read(p, view, e) == 0;
	if (rc == 0 && (i->failed || e->kind == ERR_NOMEM))
		rc = -1;
	disk_close(view, &ignored);
	return rc;
}

int
room_partitions(struct ptable *p, struct export *source, struct err *e)
{
	struct image_disk i = { .failed = false };
	struct err ignored;

	if (export_as_disk(&i.disk, source, e) != 0)
		return -1;
	int rc = read_partitions(p, &i, e);
	disk_close(i.disk, &ignored);
	return rc;
}

static int
read_taken(struct taken *t, struct export *source, struct err *e)
{
	struct ptable p;
	int readable = room_partitions(&p, source, e);

	if (readable < 0)
		return -1;
	int rc = take_partitions(t, readable ? &p : NULL, export_sectors(source), e);
	if (readable)
		ptable_free(&p);
	return rc;
}

/* The last place for `need` sectors in [lo, hi) that is not taken; UINT64_MAX: there is none. */
static int
last_gap(const struct rangeset *taken, uint64_t lo, uint64_t hi, uint64_t need,
    uint64_t *at, struct err *e)
{
	struct rangeset gaps;

	rangeset_init(&gaps);
	*at = UINT64_MAX;
	if (rangeset_union(&gaps, taken, e) != 0 ||
	    rangeset_invert(&gaps, lo, hi > lo ? hi : lo, e) != 0) {
		rangeset_free(&gaps);
		return -1;
	}
	for (size_t i = rangeset_count(&gaps); *at == UINT64_MAX && i-- > 0;) {
		struct range g = rangeset_get(&gaps, i);
		uint64_t from = range_end(g) / ALIGN_SECTORS * ALIGN_SECTORS;
		if (from >= need && from - need >= g.off)
			*at = from - need;
	}
	rangeset_free(&gaps);
	return 0;
}

static int
find(struct taken *t, struct export *source, const struct rangeset *stored,
    uint64_t disk_sectors, uint64_t need, uint64_t *at, struct err *e)
{
	uint64_t end = disk_sectors > END_SECTORS ? disk_sectors - END_SECTORS : 0;

	if (read_taken(t, source, e) != 0 || rangeset_union(&t->sectors, stored, e) != 0)
		return -1;
	if (last_gap(&t->sectors, t->last, end, need, at, e) != 0)
		return -1;
	if (*at != UINT64_MAX)
		return 0;
	return last_gap(&t->sectors, BELOW_BOOT_BYTES / SECTOR_BYTES,
	    t->first < end ? t->first : end, need, at, e);
}

int
room_find(struct export *source, const struct rangeset *stored, uint64_t disk_bytes,
    uint64_t bytes, uint64_t *at_bytes, struct err *e)
{
	struct taken t = { .first = 0 };
	uint64_t at = UINT64_MAX;

	rangeset_init(&t.sectors);
	int rc = find(&t, source, stored, disk_bytes / SECTOR_BYTES,
	    (bytes + SECTOR_BYTES - 1) / SECTOR_BYTES, &at, e);
	rangeset_free(&t.sectors);
	if (rc != 0)
		return -1;
	if (at == UINT64_MAX)
		return err_set(e, ERR_USAGE,
		    "there is no place for the sector table on the disk: it needs %" PRIu64
		    " bytes behind the last partition, which ends at sector %" PRIu64 " of %" PRIu64
		    ", or in front of the first one; it can be in a file, on another device, or in "
		    "memory",
		    bytes, t.last, disk_bytes / SECTOR_BYTES);
	*at_bytes = at * SECTOR_BYTES;
	return 0;
}
