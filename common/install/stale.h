/* stale.h: signatures that an earlier use of the disk left in space that the
 * image leaves free: an old backup GPT, RAID, LVM, ZFS or filesystem superblocks.
 * Tools would take them for something that is there. */
#ifndef COMMON_INSTALL_STALE_H
#define COMMON_INSTALL_STALE_H

#include "common/base/err.h"
#include "common/disk/rangeset.h"
#include "common/install/whole.h"

/* Wipe them, in the target's slice, or, where there is none, on the whole disk and in
 * each of its partitions; `stored` are the disk's sectors that the image has.  A
 * partition of which the image has nothing is left alone.  Each one is told to the
 * configuration's say(); *wiped counts them. */
int stale_wipe(struct whole *, struct rangeset *stored, unsigned *wiped, struct err *);

#endif /* COMMON_INSTALL_STALE_H */
