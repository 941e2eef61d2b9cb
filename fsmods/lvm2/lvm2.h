/* lvm2.h: whether a volume of LVM2 holds a suspended system. */
#ifndef FSMODS_LVM2_LVM2_H
#define FSMODS_LVM2_LVM2_H

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "common/disk/range.h"

/* Is this partition a physical volume, and one of its volumes swap space that holds the
 * memory of a suspended system?  Volumes are looked into that are linear or striped, and whose
 * first segment is on this physical volume; nothing else of them is read.  1, 0, or -1: the partition
 * cannot be read (ERR_IO, or what the disk says), or what LVM has there is damaged or on
 * other disks (ERR_FORMAT, ERR_UNSUPPORTED); ERR_NOMEM. */
int lvm2_is_suspended(struct disk *, struct range part, struct err *);

#endif /* FSMODS_LVM2_LVM2_H */
