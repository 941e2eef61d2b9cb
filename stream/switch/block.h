/* block.h: block devices of this machine: their size, their sectors, their name. */
#ifndef STREAM_SWITCH_BLOCK_H
#define STREAM_SWITCH_BLOCK_H

#include <stdint.h>
#include <sys/types.h>

#include "common/base/err.h"

/* Bytes of a name of block_name(), with "/dev/" and the final NUL. */
enum { BLOCK_NAME_CAP = 80 };

struct block {
	int fd; /* open for reading; -1: closed */
	dev_t number;
	uint64_t sectors; /* of 512 bytes */
	int sector_bytes; /* of the device's own sectors */
};

/* Open a block device.  It is opened for reading alone, because udev looks for partitions and
 * filesystems on a device that was open for writing.  ERR_ABSENT: there is no such path;
 * ERR_UNSUPPORTED: it is not a block device; ERR_IO. */
int block_open(struct block *, const char *path, struct err *);
/* Close the device.  A device whose fd is -1 is left alone. */
void block_close(struct block *);
/* The path of the device that the kernel has under this number: "/dev/sda".  ERR_IO: it has
 * none. */
int block_name(dev_t number, char buf[BLOCK_NAME_CAP], struct err *);

#endif /* STREAM_SWITCH_BLOCK_H */
