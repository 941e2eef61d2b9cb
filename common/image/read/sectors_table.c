/* sectors_table.c: the partition table of an image is read by ptable_read(), as of a
 * disk. imagedelta and whoever makes an image of images call this, in the thread that
 * reads the image, before the rest of it is read. */
#include "common/image/read/sectors_table.h"

#include <errno.h>
#include <string.h>

struct view {
	struct sectors *image;
	struct err why; /* of a read that failed */
};

/* What the image does not store is zeros. */
static ssize_t
view_pread(void *ctx, void *buf, size_t len, uint64_t off)
{
	struct view *v = ctx;
	uint8_t sector[SECTOR_BYTES], *out = buf;

	for (size_t at = 0, n; at < len; at += n) {
		uint64_t number = (off + at) / SECTOR_BYTES,
			 in = (off + at) % SECTOR_BYTES;
		n = SECTOR_BYTES - in < len - at ? SECTOR_BYTES - in : len - at;
		memset(sector, 0, sizeof sector);
		if (rangeset_contains(sectors_stored(v->image), number) &&
		    sectors_read(
			v->image, (struct range){ number, 1 }, sector, &v->why) != 0) {
			errno = EIO;
			return -1;
		}
		memcpy(out + at, sector + in, n);
	}
	return (ssize_t)len;
}

static int
open_view(struct disk **d, struct view *v, struct err *e)
{
	static const struct disk_ops ops = { .pread = view_pread };
	const struct ext *x = sectors_ext(v->image);

	if (disk_open_ops(d, sectors_name(v->image), DISK_FILE,
		sectors_total(v->image) * SECTOR_BYTES, &ops, v, e) != 0)
		return -1;
	if (x->has_image && x->image.sector_bytes >= SECTOR_BYTES)
		disk_set_sector_bytes(*d, x->image.sector_bytes);
	return 0;
}

int
sectors_table(struct sectors *image, struct ptable *pt, struct err *e)
{
	struct view v = { .image = image, .why = { .kind = ERR_NONE } };
	struct disk *d;
	struct err none;

	if (open_view(&d, &v, e) != 0)
		return -1;
	int rc = ptable_read(pt, d, &none) == 0;
	disk_close(d, &none);
	if (rc == 1 && (pt->nparts == 0 || v.why.kind != ERR_NONE)) {
		ptable_free(pt);
		rc = 0;
	}
	if (v.why.kind == ERR_NONE)
		return rc;
	*e = v.why;
	return -1;
}

int
table_zones(const struct ptable *pt, struct cut_zones *zones, struct err *e)
{
	for (unsigned i = 0; i < pt->nparts; i++)
		if (cut_zones_add(zones, pt->parts[i].sectors, e) != 0) {
			cut_zones_free(zones);
			return -1;
		}
	cut_zones_settle(zones);
	return 0;
}

int
sectors_zones(struct sectors *image, struct cut_zones *zones, struct err *e)
{
	const struct ext *x = sectors_ext(image);
	struct ptable pt;

	if (x->has_image && x->image.kind != EXT_KIND_DISK &&
	    x->image.kind != EXT_KIND_UNKNOWN)
		return 0;
	int rc = sectors_table(image, &pt, e);
	if (rc != 1)
		return rc;
	rc = table_zones(&pt, zones, e);
	ptable_free(&pt);
	return rc;
}
