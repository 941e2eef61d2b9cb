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

#endif /* STREAM_BOOT_DRIVERS_H */
