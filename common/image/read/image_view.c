/* image_view.c: an image is read as a disk.  sectors_table.c and imagedelta call this, in the
 * thread that reads the image, before the rest of it is read. */
#include "common/image/read/image_view.h"

#include <string.h>

/* Read sectors: those that are stored, and zeros in place of the others. */
static int
read_sectors(void *ctx, void *buf, size_t len, uint64_t off, struct err *e)
{
	struct sectors *image = ctx;
	const struct rangeset *set = sectors_stored(image);
	struct range r = { off / SECTOR_BYTES, len / SECTOR_BYTES };

	memset(buf, 0, len);
	for (size_t i = rangeset_find(set, r.off); i < rangeset_count(set); i++) {
		struct range part = range_clip(
		    rangeset_get(set, i), r.off, range_end(r));
		if (part.len == 0)
			break;
		if (sectors_read(image, part,
			(uint8_t *)buf + (part.off - r.off) * SECTOR_BYTES, e) != 0)
			return -1;
	}
	return 0;
}

static int
view_read(void *ctx, void *buf, size_t len, uint64_t off, struct err *e)
{
	struct image_view *v = ctx;
	const struct disk_units sectors = { SECTOR_BYTES, read_sectors, v->image };
	int rc = disk_read_units(&sectors, buf, len, off, e);

	if (rc != 0 && v->why.kind == ERR_NONE)
		v->why = *e;
	return rc;
}

int
image_view_open(
    struct disk **d, struct image_view *v, struct sectors *image, struct err *e)
{
	/* A child would read with a copy of this process's decoder. */
	static const struct disk_ops ops = { .read = view_read, .one_process = true };
	const struct ext *x = sectors_ext(image);

	*v = (struct image_view){ .image = image, .why = { .kind = ERR_NONE } };
	if (disk_open_ops(d, sectors_name(image), DISK_FILE,
		sectors_total(image) * SECTOR_BYTES, &ops, v, e) != 0)
		return -1;
	if (x->has_image && x->image.sector_bytes >= SECTOR_BYTES)
		disk_set_sector_bytes(*d, x->image.sector_bytes);
	return 0;
}

int
image_view_check(const struct image_view *v, struct err *e)
{
	if (v->why.kind == ERR_NONE)
		return 0;
	*e = v->why;
	return -1;
}
