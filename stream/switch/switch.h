/* switch.h: a device that first leads to a block device over the network and later, while a
 * filesystem on it is mounted and written to, to the disk itself.
 *
 * The device /dev/mapper/NAME is as long as the block device below it.  Each partition of the
 * disk is a device of its own on top of it, NAME1, NAME2 and so on (NAMEp1 if NAME ends in a
 * digit), because the kernel finds no partitions on such devices by itself.  One exchange of the
 * table of NAME redirects all of them. */
#ifndef STREAM_SWITCH_SWITCH_H
#define STREAM_SWITCH_SWITCH_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "stream/switch/block.h"

/* A NAME's length, so that what is added to it fits (devmap.h). */
enum { SWITCH_NAME_MAX = 64 };

/* Make NAME over the block device `device`, and a device for each of its partitions if `parts`.
 * *made: how many partitions there are.  On failure nothing is left.  ERR_ABSENT: no device
 * mapper; ERR_IO: somebody else holds the device, or NAME is taken; ERR_FORMAT: the partition
 * table cannot be trusted. */
int switch_make(
    const char *name, const char *device, bool parts, unsigned *made, struct err *);
/* Remove NAME and its partitions, which are those of their names that lead to NAME.  ERR_ABSENT:
 * there is no NAME; ERR_IO: it is in use, and what was not in use is gone. */
int switch_remove(const char *name, struct err *);

struct switch_move {
	const char *name, *device; /* NAME shall lead to this block device */
	/* The NBD device below NAME, which is disconnected afterwards; NULL: none is. */
	const char *nbd;
};
struct switch_moved {
	bool moved;          /* NAME leads to the new device */
	bool disconnected;   /* the NBD device is disconnected */
	uint64_t pause_us;   /* for how long requests were held back, at most */
};

/* Make NAME lead to the other device, which has the same sectors.  Filesystems on NAME stay
 * mounted; their requests wait for a moment.  All memory of the process is locked first, and no
 * file is opened between the exchange of the table and the return.  The caller prints nothing
 * before.  ERR_ABSENT: a device is not there, or the NBD device not attached; ERR_REFUSED: the device
 * is too small or has larger sectors than NAME; ERR_UNSUPPORTED: NAME was not made by switch_make(),
 * or is one of its partitions; ERR_IO: somebody else holds the device, or memory cannot be locked.
 * When r->moved is false, NAME is as it was. */
int switch_move(const struct switch_move *, struct switch_moved *r, struct err *);

/* Where NAME leads to: the path in /dev of the device below it, in buf.  ERR_ABSENT,
 * ERR_UNSUPPORTED, ERR_REFUSED: as switch_move(). */
int switch_below(const char *name, char buf[BLOCK_NAME_CAP], struct err *);

#endif /* STREAM_SWITCH_SWITCH_H */
