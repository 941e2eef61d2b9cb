/* sectorsize.h: does the MBR in a file count in sectors of 512 bytes?
 *
 * A file does not say what sectors the disk had that it is a copy of, and neither
 * does an MBR.  Taken for 512 bytes instead of 4096, partitions are looked for in the
 * first eighth of the disk, and all the rest is space behind the last one.
 */
#ifndef FSMODS_SECTORSIZE_H
#define FSMODS_SECTORSIZE_H

#include "common/disk/ptable.h"

/* ERR_UNSUPPORTED when filesystems are only where sectors of 4096 bytes have them. */
int sectorsize_check(struct disk *, const struct ptable *, struct err *);

#endif /* FSMODS_SECTORSIZE_H */
