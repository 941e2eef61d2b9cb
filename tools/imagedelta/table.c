/* table.c: a delta has the partition table of its disk whether it changed or not, so that
 * one partition of it can be installed (imageunzip --only).  diff.c calls this once, in the
 * first thread, before the images are compared. */
#include "tools/imagedelta/table.h"

#include "common/image/read/sectors_table.h"

int
table_sectors(struct sectors *image, struct rangeset *set, struct err *e)
{
	const struct ext *x = sectors_ext(image);
	struct ptable pt;

	if (!x->has_image || x->image.kind != EXT_KIND_DISK)
		return 0;
	int rc = sectors_table(image, &pt, e);
	if (rc != 1)
		return rc;
	rc = rangeset_union(set, &pt.own, e);
	ptable_free(&pt);
	return rc;
}
