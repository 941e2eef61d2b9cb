/* stale.h: signatures that an earlier use of the disk left in space that the
 * image leaves free: an old backup GPT, RAID, LVM, ZFS or filesystem superblocks.
 * Tools would take them for something that is there. */
#ifndef COMMON_INSTALL_STALE_H
#define COMMON_INSTALL_STALE_H

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "common/disk/rangeset.h"

/* Wipe them, in the sectors of the disk [area), or on the whole disk and in each of its
 * partitions when area.len is 0; `stored` are the disk's sectors that the image
 * has.  A partition of which the image has nothing is left alone.  Each one is told
 * to say(); *wiped counts them. */
int stale_wipe(struct disk *, struct range area, struct rangeset *stored,
    void (*say)(const char *sentence), unsigned *wiped, struct err *);

#endif /* COMMON_INSTALL_STALE_H */
