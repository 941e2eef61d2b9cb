/* cut.c: shows a disk as a shorter one, which ends in front of the sector table, if there is no other
 * place for the table.  streamed_open.c calls this in one thread.
 *
 * The space behind the last partition may be too small for the table and what is otherwise left
 * alone at the end of a disk, but large enough for the table and the backup of a GPT.  The backup is
 * at the end of the disk that is shown then.  When the disk is complete, it is still there, in
 * front of the disk's end, and any program for GPTs moves it. */
#include <string.h>

#include "stream/disk/streamed_impl.h"

enum { PAGE_BYTES = 4096 };

/* The sectors of a GPT's own behind the last usable one, up to the end of the image's disk. */
static struct range
backup_of(const struct ptable *p, struct export *source)
{
	uint64_t end = export_bytes(source) / SECTOR_BYTES, from = range_end(p->usable);

	return p->kind == PTABLE_GPT && from < end ? (struct range){ from, end - from }
	                                           : (struct range){ 0, 0 };
}

static int
minus_backup(struct rangeset *stored, struct export *source, struct err *e)
{
	struct rangeset backup;
	struct ptable p;
	int rc = room_partitions(&p, source, e);

	if (rc <= 0)
		return rc;
	struct range r = backup_of(&p, source);
	rangeset_init(&backup);
	rc = r.len > 0 ? rangeset_add(&backup, r, e) : 0;
	rangeset_seal(&backup);
	if (rc == 0)
		rc = rangeset_minus(stored, &backup, e);
	rangeset_free(&backup);
	ptable_free(&p);
	return rc;
}

int
cut_drop_end(struct rangeset *stored, struct export *source, struct err *e)
{
	return export_drop_tail(source, stored, e) == 0 ? minus_backup(stored, source, e) : -1;
}

/* Sectors 0 to this number - 1 have all that the image needs; UINT64_MAX: without partitions, that
 * is not known. */
static uint64_t
needed_sectors(const struct ptable *p, const struct rangeset *stored, struct export *source)
{
	size_t n = rangeset_count(stored);
	uint64_t end = 0;

	if (p->nparts == 0)
		return UINT64_MAX;
	for (unsigned i = 0; i < p->nparts; i++)
		if (range_end(p->parts[i].sectors) > end)
			end = range_end(p->parts[i].sectors);
	if (n > 0 && range_end(rangeset_get(stored, n - 1)) > end)
		end = range_end(rangeset_get(stored, n - 1));
	return end + backup_of(p, source).len;
}

static int
find_needed(struct export *source, uint64_t *sectors, struct err *e)
{
	struct rangeset stored;
	struct ptable p;
	int there = room_partitions(&p, source, e);

	*sectors = UINT64_MAX;
	if (there <= 0)
		return there;
	rangeset_init(&stored);
	int rc = rangeset_union(&stored, export_stored(source), e);
	if (rc == 0)
		rc = cut_drop_end(&stored, source, e);
	if (rc == 0)
		*sectors = needed_sectors(&p, &stored, source);
	rangeset_free(&stored);
	ptable_free(&p);
	return rc;
}

/* Refuse to end the disk in front of what has an owner: a disk of the image's size has
 * its tail. */
static int
check_tail(struct export *source, uint64_t disk_bytes, struct err *e)
{
	const struct tail *tail = export_tail(source);

	if (tail->disk_sectors != disk_bytes / SECTOR_BYTES)
		return 0;
	for (size_t i = 0; i < tail->n; i++)
		if (tail->pieces[i].kind != TAIL_UNKNOWN)
			return err_set(e, ERR_REFUSED,
			    "the only place for the sector table is the end of the disk, "
			    "where the image has %s; the table can be in a file, on "
			    "another device, or in memory",
			    tail_kind_name(tail->pieces[i].kind));
	return 0;
}

int
cut_find(struct export *source, uint64_t disk_bytes, uint64_t bytes, uint64_t *shown_bytes,
    struct err *e)
{
	uint64_t needed;

	if (find_needed(source, &needed, e) != 0)
		return -1;
	*shown_bytes = disk_bytes > bytes ? (disk_bytes - bytes) / PAGE_BYTES * PAGE_BYTES : 0;
	if (needed > *shown_bytes / SECTOR_BYTES)
		return err_set(e, ERR_USAGE, "the disk cannot be shown as a shorter one");
	return check_tail(source, disk_bytes, e);
}

/* The disk that is shown.  Behind its end, where the image's disk had more, there are zeros. */
static int
view_read(void *ctx, void *buf, size_t len, uint64_t off, struct err *e)
{
	struct streamed *d = ctx;
	size_t here = off >= d->bytes ? 0 : d->bytes - off < len ? d->bytes - off : len;

	memset((uint8_t *)buf + here, 0, len - here);
	return here > 0 ? streamed_read(d, buf, here, off, e) : 0;
}

static int
view_write(void *ctx, const void *buf, size_t len, uint64_t off, struct err *e)
{
	return streamed_write(ctx, buf, len, off, e);
}

int
streamed_as_disk(struct disk **out, struct streamed *d, struct err *e)
{
	static const struct disk_ops ops = { .read = view_read, .write = view_write };

	return disk_open_view(out, d->disk, &ops, d, e);
}

int
cut_fit(struct streamed *d, struct err *e)
{
	struct disk *view;
	struct ptable t;
	struct err ignored;

	if (streamed_as_disk(&view, d, e) != 0)
		return -1;
	int rc = ptable_read(&t, view, e);
	if (rc == 0)
		rc = ptable_end_at(view, &t, d->bytes / SECTOR_BYTES, e);
	ptable_free(&t);
	disk_close(view, &ignored);
	return rc;
}
