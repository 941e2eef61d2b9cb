/* foreign.h: what is known to own a partition, but is not understood: members of
 * arrays, pools and caches.
 *
 * Making one of these leaves what a former filesystem wrote at places that they do
 * not use: the superblock of ext, the boot sector of FAT, the header of swap and the
 * label of LVM stay readable below a RAID member's superblock.  Such a leftover
 * calls free what holds the data of the array.
 */
#ifndef FSMODS_FOREIGN_H
#define FSMODS_FOREIGN_H

#include "common/disk/disk.h"
#include "common/disk/range.h"

/* "ZFS pool", or NULL when nothing is recognised, or could not be read.  A member of
 * a mirror that begins with the data of the mirror is no foreign thing. */
const char *foreign_find(struct disk *, struct range part);

#endif /* FSMODS_FOREIGN_H */
