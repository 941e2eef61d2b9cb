/* devmap.h: devices of the kernel's device mapper that consist of one linear target, which maps
 * all of the device onto sectors of another one.
 *
 * The functions call the kernel through the descriptor that devmap_open() has opened, and use no
 * file, no program and no library beside it.  So they can change the device that holds the
 * root filesystem.  Source: the kernel's header linux/dm-ioctl.h, and its document
 * admin-guide/device-mapper/linear.rst. */
#ifndef STREAM_SWITCH_DEVMAP_H
#define STREAM_SWITCH_DEVMAP_H

#include <stdint.h>
#include <sys/types.h>

#include "common/base/err.h"

/* Longest name and UUID of a device, with the final NUL, as the kernel limits them. */
enum { DEVMAP_NAME_CAP = 128, DEVMAP_UUID_CAP = 129 };

/* Sectors [0, sectors) of the device are sectors [first, first + sectors) of another device. */
struct linear {
	uint64_t sectors, first;
	dev_t onto; /* the other device */
};

/* Open the device mapper.  Returns a descriptor, which the caller closes, or -1.  ERR_ABSENT: the
 * kernel has no device mapper, or its module dm_mod is not loaded; ERR_IO: not allowed. */
int devmap_open(struct err *);
/* Make a device without a table; *device is its number.  ERR_IO: the kernel refuses the name or
 * the UUID, for example since a device has it already. */
int devmap_create(int fd, const char *name, const char *uuid, dev_t *device, struct err *);
/* Load a table, which takes effect with devmap_resume().  The kernel opens the other device for
 * itself alone now.  ERR_IO: somebody else holds the other device, or it is too small. */
int devmap_load(int fd, const char *name, const struct linear *, struct err *);
/* Forget a table that was loaded and has not taken effect. */
void devmap_unload(int fd, const char *name);
/* Make the loaded table take effect.  A device with a table is suspended for this moment: the
 * kernel waits for the requests that are under way, and holds new ones back.  A filesystem on the
 * device is not frozen, and continues with the new table.  Without a loaded table, a device that is
 * suspended goes on with the one in effect.  ERR_IO: the old table is in effect, and the device may be
 * suspended. */
int devmap_resume(int fd, const char *name, struct err *);
/* Read the table that is in effect; *device (unless NULL) is the number of the device.
 * ERR_ABSENT: there is no such device; ERR_UNSUPPORTED: its table is not one linear target;
 * ERR_REFUSED: the device is suspended. */
int devmap_table(int fd, const char *name, struct linear *, dev_t *device, struct err *);
/* Remove a device.  ERR_ABSENT: there is no such device; ERR_IO: somebody uses it. */
int devmap_remove(int fd, const char *name, struct err *);

#endif /* STREAM_SWITCH_DEVMAP_H */
