/* sectors_table.h: the partition table that the image of a disk holds, of an image that
 * can be read by sector.  Whoever has only some chunks uses imgtable.h. */
#ifndef COMMON_IMAGE_READ_SECTORS_TABLE_H
#define COMMON_IMAGE_READ_SECTORS_TABLE_H

#include "common/disk/ptable.h"
#include "common/image/format/cut.h"
#include "common/image/read/sectors.h"

/* Read the table; what the image does not store is zeros.  1: *pt has partitions, and
 * ptable_free() is to be called; 0: the image has no table that can be trusted; -1: the image
 * cannot be read, or ERR_NOMEM. */
int sectors_table(struct sectors *, struct ptable *pt, struct err *);
/* The zones of the image, settled, into the empty *zones: its partitions, and what is
 * between them.  An image that says that it is of a partition or a file is one zone.
 * Errors as sectors_table(); *zones is then empty. */
int sectors_zones(struct sectors *, struct cut_zones *zones, struct err *);
/* The zones of a disk with this table, settled, into the empty *zones.  ERR_NOMEM; *zones is
 * then empty. */
int table_zones(const struct ptable *, struct cut_zones *zones, struct err *);

#endif /* COMMON_IMAGE_READ_SECTORS_TABLE_H */
