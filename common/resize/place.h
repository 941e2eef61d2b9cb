/* place.h: a place on a disk, such as a partition, as a device or file of its own. */
#ifndef COMMON_RESIZE_PLACE_H
#define COMMON_RESIZE_PLACE_H

#include <stdbool.h>

#include "common/base/err.h"
#include "common/disk/range.h"

/* Can this program have loop devices? */
bool place_can(void);

typedef int place_act_fn(void *arg, const char *path, struct err *);
/* Call act() with the name of a device or file that has these sectors of the disk, and
 * nothing else: the kernel's partition, a loop device, or what is on the disk itself.
 * own: the kernel's partition is not taken, because it may be that of an older table, with
 * what the kernel has cached of it.  A loop device goes when this program and those that
 * act() has started have ended, however they end.  Errors of act(), and of losetup. */
int place_with(const char *disk, struct range sectors, bool own, place_act_fn *act,
    void *arg, struct err *);

#endif /* COMMON_RESIZE_PLACE_H */
