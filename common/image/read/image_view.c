/* image_view.c: an image is read as a disk.  sectors_table.c and imagedelta call this, in the
 * thread that reads the image, before the rest of it is read. */
#include "common/image/read/image_view.h"

#include <string.h>

/* Read the stored sectors of r into buf, and put zeros in place of the others. */
static int
read_range(struct sectors *image, struct range r, uint8_t *buf, struct err *e)
{
	const struct rangeset *set = sectors_stored(image);

	memset(buf, 0, r.len * SECTOR_BYTES);
	for (size_t i = rangeset_find(set, r.off); i < rangeset_count(set); i++) {
		struct range part = range_clip(
		    rangeset_get(set, i), r.off, range_end(r));
		if (part.len == 0)
			break;
		if (sectors_read(image, part,
			buf + (part.off - r.off) * SECTOR_BYTES, e) != 0)
			return -1;
	}
	return 0;
}

/* Read from the middle of one sector, or whole sectors: *len bytes at most, and says how
 * many. */
static int
read_piece(struct image_view *v, uint8_t *buf, size_t *len, uint64_t off, struct err *e)
{
	uint64_t first = off / SECTOR_BYTES, in = off % SECTOR_BYTES;
	uint8_t sector[SECTOR_BYTES];

	if (in == 0 && *len >= SECTOR_BYTES) {
		*len -= *len % SECTOR_BYTES;
		return read_range(
		    v->image, (struct range){ first, *len / SECTOR_BYTES }, buf, e);
	}
	*len = SECTOR_BYTES - in < *len ? SECTOR_BYTES - in : *len;
	if (read_range(v->image, (struct range){ first, 1 }, sector, e) != 0)
		return -1;
	memcpy(buf, sector + in, *len);
	return 0;
}

static int
view_read(void *ctx, void *buf, size_t len, uint64_t off, struct err *e)
{
	struct image_view *v = ctx;
	int rc = 0;

	for (size_t at = 0, n; rc == 0 && at < len; at += n) {
		n = len - at;
		rc = read_piece(v, (uint8_t *)buf + at, &n, off + at, e);
	}
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
