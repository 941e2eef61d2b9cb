/* inuse.h: is a block device in use, and by what?
 *
 * In use means: it, or any of its partitions, is mounted, is swap, or has
 * holders (LVM, md, dm).  Siblings of a partition do not count.
 */
#ifndef COMMON_DISK_INUSE_H
#define COMMON_DISK_INUSE_H

#include <sys/types.h>

#include "common/base/err.h"

/* 0 when it is free; ERR_REFUSED with a sentence that names the user of it. */
int inuse_check(const char *path, dev_t dev, struct err *);
/* The same with another /proc and /sys, for tests. */
int inuse_check_in(const char *proc, const char *sys, const char *path, dev_t dev,
    struct err *);

#endif /* COMMON_DISK_INUSE_H */
