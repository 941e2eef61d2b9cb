/* inuse.h: does somebody use this block device or file, so that writing to it
 * would do harm?
 *
 * A device is in use when it, one of its partitions or (for a partition) the
 * disk that it is on is mounted, swapped to, held by another block device (LVM,
 * md, dm, bcache) or the backing of a loop device that is itself in use.
 * Siblings of a partition do not matter.  A regular file is in use when it is
 * swapped to or backs such a loop device.
 *
 * Sources: the kernel's documentation of /proc/self/mountinfo, /proc/swaps and
 * /sys/dev/block.  What these do not show (mounts in other namespaces) is left
 * to O_EXCL.
 */
#ifndef COMMON_DISK_INUSE_H
#define COMMON_DISK_INUSE_H

#include <sys/stat.h>

#include "common/base/err.h"

/* 0 when nothing is known to use it, -1 (ERR_REFUSED) with a sentence that
 * says what does: "/dev/sdb is in use: /dev/sdb1 is mounted on /home".
 * `root` goes in front of /proc, /sys and the paths named there: "" but for
 * tests.  Neither /proc nor /sys need be there. */
int inuse_check(const char *root, const char *path, const struct stat *, struct err *);

#endif /* COMMON_DISK_INUSE_H */
