/* drivers.h: which of a kernel's modules a machine needs whose disk streams. */
#ifndef STREAM_BOOT_DRIVERS_H
#define STREAM_BOOT_DRIVERS_H

#include <stdbool.h>

#include "common/base/err.h"
#include "stream/boot/modules.h"

/* Choose what every streaming machine needs: nbd, the device mapper, and the root filesystem
 * (such as "ext4").  What is in the kernel itself is there.  ERR_UNSUPPORTED: the kernel lacks one
 * of them; the sentence says which. */
int drivers_need(struct modules *, const char *filesystem, struct err *);
/* Choose the drivers of the memory-root environment for networks and disks, as far as this kernel
 * has them. */
void drivers_all(struct modules *);
/* Choose those of a list of names with commas, such as those that a machine has loaded, as far as
 * this kernel has them.  ERR_NOMEM. */
int drivers_listed(struct modules *, const char *names, struct err *);

/* A device that the machine cannot do without, and what drives it under the kernel that runs here. */
struct device {
	char name[64];        /* as the user knows it, or what hangs on it: "eth0" */
	char driver[64];      /* the module */
	const char *modalias; /* by which drivers are found; "": it has none */
};

/* Read "NAME,DRIVER" or "NAME,DRIVER,MODALIAS"; modalias points into the text.  ERR_USAGE. */
int device_parse(struct device *, const char *text, struct err *);
/* Choose what drives this device.  alias: the text of modules.alias; empty: names of drivers alone count.
 * inside: that of modules.builtin.modinfo, which says the same of the kernel itself, but seldom all of
 * it, so a driver of this name in the kernel itself will do, too.  ERR_UNSUPPORTED: the kernel has no
 * driver for it. */
int drivers_for(struct modules *, const struct device *, const struct buf *alias,
    const struct buf *inside, struct err *);

#endif /* STREAM_BOOT_DRIVERS_H */
