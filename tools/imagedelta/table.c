/* table.c: a delta stores the partition table of its disk whether the table changed or not,
 * so that a single partition can be installed from the delta (imageunzip --only).  This file
 * finds the sectors of the table.  diff.c calls it once, in the first thread, before the
 * images are compared. */
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
