/* foreign.h: recognises a partition that belongs to an array, a pool or a cache, or has a
 * filesystem, whose data is not understood.
 *
 * Making such a member leaves what a former filesystem wrote at places that the member
 * does not use: the superblock of ext, the boot sector of FAT, the header of swap and the
 * label of LVM stay readable below a RAID member's superblock. Such a leftover calls free
 * what holds the array's data.
 */
#ifndef FSMODS_FOREIGN_H
#define FSMODS_FOREIGN_H

#include "common/disk/disk.h"
#include "common/disk/range.h"

/* What owns the partition ("a member of a ZFS pool", static), or NULL when nothing is
 * recognised or the partition could not be read. A member of a mirror that begins with
 * the data of the mirror is not reported. */
const char *foreign_find(struct disk *, struct range part);
/* The same, but only by what lies at the beginning. */
const char *foreign_begins(struct disk *, struct range part);

#endif /* FSMODS_FOREIGN_H */
