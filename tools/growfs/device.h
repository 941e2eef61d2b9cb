/* device.h: the partition that is grown, as a device or file that has it and nothing
 * else. */
#ifndef TOOLS_GROWFS_DEVICE_H
#define TOOLS_GROWFS_DEVICE_H

#include <sys/stat.h>

#include "common/base/err.h"
#include "common/disk/inuse.h"
#include "common/disk/ptable.h"
#include "common/resize/resize.h"

struct device {
	const char *disk; /* borrowed */
	struct stat st;   /* of the disk */
	struct partition part; /* number 0: the disk has no table, but a filesystem */
	char loop[INUSE_NAME_CAP]; /* the loop device; "": none is attached */
};

typedef int device_act_fn(const char *path, struct resize *, struct err *);
/* Call act() with the name of a device or file that has the partition.  Errors of act(),
 * and of losetup. */
int device_with(struct device *, device_act_fn *, struct resize *, struct err *);

#endif /* TOOLS_GROWFS_DEVICE_H */
