/* partitions.h: the devices that the kernel makes for the partitions of a block device. */
#ifndef COMMON_DISK_PARTITIONS_H
#define COMMON_DISK_PARTITIONS_H

#include "common/base/err.h"

/* Take away the devices of all partitions of the block device that fd is open on; the partition
 * table stays as it is.  name: for errors.  Where the device can have no partitions, nothing is
 * done.  ERR_IO: a partition is in use. */
int partitions_remove(int fd, const char *name, struct err *);

#endif /* COMMON_DISK_PARTITIONS_H */
