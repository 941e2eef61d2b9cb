/* clear.c: clears what the image does not store, when a streaming disk begins: all of it if that is
 * asked for, and in any case signatures of an earlier use, which programs would take for valid ones.
 * streamed_open.c calls this in one thread.
 *
 * Partitions of which the image stores nothing were left out when it was made: they may hold a
 * user's data, and stay as they are, as an installation leaves them. */
#include <string.h>

#include "common/target/areas.h"
#include "common/target/stale_signatures.h"
#include "stream/disk/placing.h"
#include "stream/disk/streamed_impl.h"

/* Read what is free; the rest reads as zeros, so that nothing needs to be fetched for this. */
static int
read_free(void *ctx, void *buf, size_t len, uint64_t off, struct err *e)
{
	struct streamed *d = ctx;
	struct range all = { off / SECTOR_BYTES, len / SECTOR_BYTES + 2 };
	struct rangeset set;
	int rc;

	memset(buf, 0, len);
	rangeset_init(&set);
	rc = rangeset_union(&set, &d->stored, e);
	if (rc == 0)
		rc = rangeset_invert(&set, all.off, range_end(all), e);
	for (size_t i = 0; rc == 0 && i < rangeset_count(&set); i++) {
		struct range r = rangeset_get(&set, i);
		r = range_clip((struct range){ r.off * SECTOR_BYTES, r.len * SECTOR_BYTES }, off,
		    off + len);
		if (r.len > 0)
			rc = streamed_read(
			    d, (uint8_t *)buf + (r.off - off), r.len, r.off, e);
	}
	rangeset_free(&set);
	return rc;
}

static int
write_free(void *ctx, const void *buf, size_t len, uint64_t off, struct err *e)
{
	return streamed_write(ctx, buf, len, off, e);
}

/* The free space of the disk, for a search. */
static int
view_of(struct disk **out, struct streamed *d, struct err *e)
{
	static const struct disk_ops ops = { .read = read_free, .write = write_free };

	if (disk_open_ops(out, d->cfg.disk, disk_kind(d->disk), d->bytes, &ops, d, e) != 0)
		return -1;
	disk_set_sector_bytes(*out, disk_sector_bytes(d->disk));
	return 0;
}

/* The partitions of the image, where they are on the disk, and the sectors of those that it leaves
 * out.  0: the partition table cannot be trusted, so they are not known, and the sets are empty.
 * Errors of reading the source, since what was left out must stay. */
static int
find_areas(struct streamed *d, struct areas *areas, struct rangeset *left, struct err *e)
{
	struct disk *image;
	struct ptable table;
	struct err ignored;
	int trusted = room_partitions(&table, d->source, e);

	if (trusted > 0)
		ptable_free(&table);
	if (trusted < 0 || export_as_disk(&image, d->source, e) != 0)
		return -1;
	/* All in sectors of the image, and then of the disk. */
	int rc = areas_of_disk(areas, image, (struct range){ 0, 0 }, 0,
	    d->placing != NULL ? export_stored(d->source) : &d->stored, e);
	if (rc == 0 && trusted > 0)
		rc = err_set(e, ERR_IO, "%s: its partition table cannot be read any more",
		    export_name(d->source));
	if (rc == 1 && d->placing != NULL)
		placing_areas(d->placing, areas);
	if (rc == 1 && areas_left_out(areas, true, left, e) != 0)
		rc = -1;
	rangeset_seal(left);
	disk_close(image, &ignored);
	return rc;
}

static int
clear_one(struct streamed *d, struct range r, struct err *e)
{
	uint64_t at = r.off * SECTOR_BYTES, n = r.len * SECTOR_BYTES;

	if (d->cfg.discard)
		disk_discard(d->disk, at, n);
	return d->cfg.zero ? disk_zero(d->disk, at, n, e) : 0;
}

static int
clear_all_but(struct streamed *d, const struct rangeset *left, struct err *e)
{
	struct rangeset set;
	int rc;

	rangeset_init(&set);
	rc = rangeset_union(&set, &d->stored, e);
	if (rc == 0)
		rc = rangeset_union(&set, left, e);
	if (rc == 0)
		rc = rangeset_invert(&set, BELOW_BOOT_BYTES / SECTOR_BYTES,
		    d->bytes / SECTOR_BYTES, e);
	for (size_t i = 0; rc == 0 && i < rangeset_count(&set); i++)
		rc = clear_one(d, rangeset_get(&set, i), e);
	rangeset_free(&set);
	return rc == 0 ? disk_sync(d->disk, e) : -1;
}

int
clear_free(struct streamed *d, struct err *e)
{
	struct areas areas;
	struct rangeset left;

	areas_init(&areas);
	rangeset_init(&left);
	int rc = find_areas(d, &areas, &left, e);
	if (rc >= 0)
		rc = clear_all_but(d, &left, e);
	areas_free(&areas);
	rangeset_free(&left);
	return rc;
}

static int
wipe(struct streamed *d, struct disk *view, const struct areas *areas, struct rangeset *left,
    struct err *e)
{
	struct stale_signatures s = { .disk = view,
		.stored = &d->stored,
		.areas = areas,
		.left = left,
		.sector_bytes = disk_sector_bytes(d->disk),
		.did = "wiped" };

	/* The place of the table is empty already. */
	if (d->table_at.len > 0) {
		if (rangeset_add(left, d->table_at, e) != 0)
			return -1;
		rangeset_seal(left);
	}
	return stale_signatures_wipe(&s, e);
}

int
clear_stale(struct streamed *d, struct err *e)
{
	struct areas areas;
	struct rangeset left;
	struct disk *view;
	struct err ignored;

	areas_init(&areas);
	rangeset_init(&left);
	int rc = find_areas(d, &areas, &left, e);
	if (rc == 1)
		rc = view_of(&view, d, e) == 0 ? 1 : -1;
	if (rc == 1) {
		rc = wipe(d, view, &areas, &left, e);
		disk_close(view, &ignored);
	}
	areas_free(&areas);
	rangeset_free(&left);
	return rc < 0 ? -1 : 0;
}
