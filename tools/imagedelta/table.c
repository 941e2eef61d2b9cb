/* table.c: a delta has the partition table of its disk whether it changed or not, so that
 * one partition of it can be installed (imageunzip --only).  diff.c calls this once, in the
 * first thread, before the images are compared. */
#include "tools/imagedelta/table.h"

#include <errno.h>
#include <string.h>

#include "common/disk/ptable.h"

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

int
table_sectors(struct sectors *image, struct rangeset *set, struct err *e)
{
	static const struct disk_ops ops = { .pread = view_pread };
	const struct ext *x = sectors_ext(image);
	struct view v = { .image = image, .why = { .kind = ERR_NONE } };
	struct ptable pt;
	struct disk *d;
	struct err none;

	if (!x->has_image || x->image.kind != EXT_KIND_DISK)
		return 0;
	if (disk_open_ops(&d, sectors_name(image), DISK_FILE,
		sectors_total(image) * SECTOR_BYTES, &ops, &v, e) != 0)
		return -1;
	if (x->image.sector_bytes >= SECTOR_BYTES)
		disk_set_sector_bytes(d, x->image.sector_bytes);
	int rc = 0;
	if (ptable_read(&pt, d, &none) == 0) {
		rc = pt.nparts > 0 ? rangeset_union(set, &pt.own, e) : 0;
		ptable_free(&pt);
	}
	disk_close(d, &none);
	if (rc == 0 && v.why.kind != ERR_NONE) {
		*e = v.why;
		rc = -1;
	}
	return rc;
}
