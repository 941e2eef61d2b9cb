/* sectors_table.c: the partition table of an image is read by ptable_read(), as of a
 * disk. imagedelta and whoever makes an image of images call this, in the thread that
 * reads the image, before the rest of it is read. */
#include "common/image/read/sectors_table.h"

#include "common/image/read/image_view.h"

int
sectors_table(struct sectors *image, struct ptable *pt, struct err *e)
{
	struct image_view v;
	struct disk *d;
	struct err none;

	if (image_view_open(&d, &v, image, e) != 0)
		return -1;
	int rc = ptable_read(pt, d, &none) == 0;
	disk_close(d, &none);
	bool failed = image_view_check(&v, e) != 0;
	if (rc == 1 && (pt->nparts == 0 || failed)) {
		ptable_free(pt);
		rc = 0;
	}
	return failed ? -1 : rc;
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
