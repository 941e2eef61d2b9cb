/* table.h: where on its disk the partition table of an image lies. */
#ifndef TOOLS_IMAGEDELTA_TABLE_H
#define TOOLS_IMAGEDELTA_TABLE_H

#include "common/disk/rangeset.h"
#include "common/image/read/sectors.h"

/* Add the sectors of the partition table to the set, which is left open; none when the image
 * is not of a disk, or has no table that can be trusted.  -1: errors as sectors_table(). */
int table_sectors(struct sectors *, struct rangeset *, struct err *);

#endif /* TOOLS_IMAGEDELTA_TABLE_H */
