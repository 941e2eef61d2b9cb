/* partitions.c: takes away the devices that the kernel makes for partitions.  A streaming disk and
 * streamswitch call this, in one thread. */
#include "common/disk/partitions.h"

#include <errno.h>
#include <linux/blkpg.h>
#include <stdbool.h>
#include <sys/ioctl.h>

#include "common/disk/ptable.h"

/* ENXIO: this partition is not there.  ENOTTY, EINVAL: the device can have no partitions, such as
 * one of the device mapper. */
static bool
is_none(int error)
{
	return error == ENXIO || error == ENOTTY || error == EINVAL;
}

int
partitions_remove(int fd, const char *name, struct err *e)
{
	struct blkpg_partition p = { .pno = 0 };
	struct blkpg_ioctl_arg arg = { .op = BLKPG_DEL_PARTITION, .datalen = sizeof p, .data = &p };

	for (p.pno = 1; p.pno <= PTABLE_PARTS_MAX; p.pno++)
		if (ioctl(fd, BLKPG, &arg) != 0 && !is_none(errno))
			return err_os(e, "%s: partition %d cannot be taken away", name, p.pno);
	return 0;
}
