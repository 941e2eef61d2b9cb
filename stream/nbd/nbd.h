/* nbd.h: the kernel's block device of a server that speaks NBD, whose server may be another one
 * later.
 *
 * The server is found at a socket of this machine.  nbd_dial() makes a connection that requests may
 * go through, and the kernel is given it by netlink (linux/nbd-netlink.h).  When the connection
 * ends, requests fail; or, where the device is to wait, they do so until the kernel is given another
 * connection.  Those that were sent and not answered are sent again then, within some seconds.
 *
 * Why NBD, and not another client of the kernel: the image's own kernel attaches the root
 * filesystem.  ublk, whose requests outlive a server since Linux 6.1, is lacking in the kernels
 * of Debian 11 and 12 and of Ubuntu 22.04.  The initiator of iSCSI needs a daemon that survives
 * the change of the root filesystem, and no firmware starts from a target on its own machine.
 * dm-clone copies free space, too, needs a device for its metadata, has no order but the disk's,
 * and its reads fail when the source is silent. */
#ifndef STREAM_NBD_NBD_H
#define STREAM_NBD_NBD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"

enum { NBD_HELLO_BYTES = 18, NBD_EXPORT_BYTES = 10 };

/* What a server says of its disk. */
struct nbd_export {
	uint64_t bytes;
	uint16_t flags; /* what it can do, as the protocol has it */
};

/* The kernel's device. */
struct nbd_device {
	const char *path; /* /dev/nbdN */
	uint64_t sector_bytes;
	/* For how many seconds requests wait for another connection when theirs has ended; 0: they
	 * fail at once, and nbd_reattach() is not for this device. */
	uint64_t wait_s;
};

/* Is this the first thing that a server says?  It must know options ("fixed newstyle"), and leave out
 * what old clients wait for behind its answer. */
bool nbd_hello_ok(const void *hello, size_t len);
/* Read the answer to the name of an export.  False: it is none. */
bool nbd_export_get(struct nbd_export *, const void *answer, size_t len);

/* Connect to the server at this socket, and wait until it says what its disk is, without end.
 * Returns a descriptor, which the caller closes, or -1.  ERR_ABSENT: nobody listens there; ERR_IO: it
 * has closed the connection; ERR_FORMAT: it is no such server; ERR_USAGE; ERR_CANCELLED. */
int nbd_dial(const char *socket, struct nbd_export *, struct err *);

/* Make the device of this connection.  It can be written to if the server says so.  The caller may
 * close fd.  ERR_ABSENT: the kernel has no NBD client; ERR_USAGE: the device has another name; ERR_IO:
 * the kernel does not take it, as when the device is attached already. */
int nbd_attach(const struct nbd_device *, int fd, const struct nbd_export *, struct err *);
/* Give the device another connection, where the kernel knows that the earlier one has ended.  Where it
 * does not know this yet, nothing is done, and the kernel does not say so: a caller calls this once
 * more a little later.  Errors of nbd_attach(). */
int nbd_reattach(const char *device, int fd, struct err *);
/* From now on the kernel disconnects the device when nobody has it open any more, or does not.  Who
 * calls this has it open, so that it is free again however that program ends.  A kernel that is too old
 * for this passes it over.  Errors of nbd_attach(). */
int nbd_detach_when_closed(const char *device, bool on, struct err *);
/* Has the device been attached, and not been disconnected since? */
bool nbd_is_attached(const char *device);
/* Disconnect the device.  Requests that are not answered fail, and the server hears that its client
 * leaves.  No file is opened.  Errors of nbd_attach(). */
int nbd_detach(const char *device, struct err *);

#endif /* STREAM_NBD_NBD_H */
