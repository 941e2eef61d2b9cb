/* sectorsize.h: does the MBR in a file count in sectors of 512 bytes?
 *
 * Neither a file that is a copy of a disk nor an MBR says what sectors the disk had. If
 * sectors of 4096 bytes are taken for 512, partitions are looked for in the first eighth
 * of the disk, and all the rest looks like space behind the last partition.
 */
#ifndef FSMODS_SECTORSIZE_H
#define FSMODS_SECTORSIZE_H

#include "common/disk/ptable.h"

/* Returns 0, or ERR_UNSUPPORTED when a filesystem is found only where the table places it
 * if sectors have 4096 bytes. */
int sectorsize_check(struct disk *, const struct ptable *, struct err *);

#endif /* FSMODS_SECTORSIZE_H */
