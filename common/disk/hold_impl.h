/* hold_impl.h: what the files of hold.h share; for them only.  hold.c takes locks and
 * looks; hold_node.c finds what is to be locked; hold_who.c asks the kernel who has a
 * lock.  All run in the thread of the caller. */
#ifndef COMMON_DISK_HOLD_IMPL_H
#define COMMON_DISK_HOLD_IMPL_H

#include <limits.h>
#include <stddef.h>

#include "common/disk/hold.h"

/* A file or a node of /dev that has bytes which will be written. */
struct hold_node {
	char name[PATH_MAX];
	struct range bytes; /* all zeros: all of it */
};

/* The node that is to be locked for a device: that of the disk, where it is a
 * partition.  A file stays what it is. */
void hold_node_of(struct hold_node *, const struct stat *);
/* Go from a loop device to what lies behind it.  false: it is none. */
bool hold_node_below(struct hold_node *, const struct stat *);

/* Does a descriptor that this process has inherited, or that its children inherit, have
 * the lock of all of this file or node? */
bool hold_inherited(const struct stat *);
/* Has the process a shared lock of this file or node? */
bool hold_has_share(const struct stat *, long pid);
/* "imageunzip (process 12)", who has a lock of the file or node, of these bytes if there
 * are any; or "another program". */
void hold_who(const struct stat *, struct range bytes, char *buf, size_t cap);

#endif /* COMMON_DISK_HOLD_IMPL_H */
