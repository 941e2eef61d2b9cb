/* device.h: opens the source of an extract: a device, a file, an NBD export, or a name of the
 * device mapper. */
#ifndef DSYNC_READ_DEVICE_H
#define DSYNC_READ_DEVICE_H

#include "common/disk/disk.h"

/* Open it for reading; the caller closes the disk.  A name without a slash that is no file here
 * stands for /dev/mapper/NAME.  ERR_IO, ERR_ABSENT; ERR_UNSUPPORTED, also when it is no device
 * and no file. */
int device_open(struct disk **, const char *name, struct err *);

#endif /* DSYNC_READ_DEVICE_H */
