/* table.h: where on its disk the partition table of an image lies. */
#ifndef TOOLS_IMAGEDELTA_TABLE_H
#define TOOLS_IMAGEDELTA_TABLE_H

#include "common/disk/rangeset.h"
#include "common/image/read/sectors.h"

/* Its sectors, as far as the image stores them, into the set; none if it has no table.
 */
int table_sectors(struct sectors *, struct rangeset *, struct err *);

#endif /* TOOLS_IMAGEDELTA_TABLE_H */
