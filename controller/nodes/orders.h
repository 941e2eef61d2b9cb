/* orders.h: the files that tell machines what to do at their next boot, as netboot/server/order
 * writes them: MAC.ipxe, UUID.ipxe or serial:NUMBER.ipxe for iPXE, and a file for GRUB. */
#ifndef CONTROLLER_NODES_ORDERS_H
#define CONTROLLER_NODES_ORDERS_H

#include <stdint.h>

#include "common/base/buf.h"
#include "controller/engine/swap.h"

/* Where netboot/receive takes images that are captured, as netboot/server/serve starts it. */
enum { ORDERS_CAPTURE_PORT = 5100 };

struct orders_config {
	const char *folder;    /* of the orders */
	const char *address;   /* of this host, on the network of the nodes */
	uint16_t report_port;
	const char *group_key; /* the name of the key in the ramdisk, or NULL */
	/* Gets the name, with its NUL, of each file that is written or removed, for orders_sync();
	 * or NULL. */
	struct buf *changed;
};

/* Make the files of this node as they are to be: with its order, or, if it is to have none,
 * without one of this controller.  What somebody else has ordered for a node without an order
 * stays.  An order waits until it is known where the image is sent.  Files that are right already are
 * not written.  ERR_IO; ERR_REFUSED: where a file is to be, there is something else; ERR_USAGE:
 * somebody else has given an order by the MAC address of a node that is known by its UUID or serial
 * number, so that it would have two. */
int orders_settle(const struct orders_config *, const struct swap *, const struct swap_node *,
    struct err *);
/* Remove the orders of this controller for machines that are no nodes: the file of nodes may have
 * changed while no controller ran.  Orders of somebody else stay.  ERR_IO: some may be left. */
int orders_sweep(const struct orders_config *, const struct swap *, struct err *);
/* Make the disk remember which orders are there, and what the changed ones say, when the power
 * fails: a machine that found an order that was removed would load its disk again.  What others
 * write to that filesystem is waited for only where many have changed.  Nothing counts as changed
 * then, also after an error.  ERR_IO. */
int orders_sync(const struct orders_config *, struct err *);

/* Keep others from writing orders into the folder, for as long as the descriptor is open, which is returned in *fd;
 * -1: this filesystem has no such locks.  ERR_REFUSED: another controller does so; ERR_IO. */
int orders_lock(const struct orders_config *, int *fd, struct err *);

#endif /* CONTROLLER_NODES_ORDERS_H */
