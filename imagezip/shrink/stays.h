/* stays.h: which partitions must keep their first sector, because something else says where
 * they are: Windows on MBR disks, a disklabel, an owner, GRUB or LILO. */
#ifndef IMAGEZIP_SHRINK_STAYS_H
#define IMAGEZIP_SHRINK_STAYS_H

#include "common/disk/disk.h"
#include "common/disk/ptable.h"

/* Does the whole table stay as it is?  It is an MBR that has partitions of type 0, which may lie
 * around others, or logical ones out of order, or an extended one without any.  order: the
 * partitions as they lie on the disk. */
bool stays_all(const struct ptable *, const struct partition *const *order);
/* Find why each partition of a disk stays, for people, in the given order; NULL: it need not.
 * GRUB names sectors when it was installed into a BIOS boot partition, a partition's first
 * sector, or as a list of blocks; in the gap before the first partition it does not.  ERR_IO. */
int stays_find(const char **why, struct disk *, const struct ptable *,
    const struct partition *const *order, struct err *);
/* Is it a recovery partition of Windows, by its type?  Its updates need the room in it. */
bool stays_recovery(const struct partition *);

#endif /* IMAGEZIP_SHRINK_STAYS_H */
