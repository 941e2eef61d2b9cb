/* disk_nbd.h: what an NBD server exports, as a disk that is read.
 *
 * The URI is one of libnbd: nbd://HOST[:PORT]/EXPORT, nbd+unix:///EXPORT?socket=PATH, and with
 * TLS nbds:// and nbds+unix://.  libnbd is loaded when it is first needed, so that programs
 * run without it where nobody asks for NBD.
 *
 * Which ranges are holes is asked once, when the disk is opened, and they read as zeros from
 * then on without a request.  Several threads may read: each has a connection of its own
 * where the server allows several.  A connection that breaks is replaced, and the request is
 * sent again, for DISK_NBD_SECONDS; a request that the server refuses fails at once.  A
 * server whose export has another size when it is asked again is an error.
 */
#ifndef COMMON_DISK_DISK_NBD_H
#define COMMON_DISK_DISK_NBD_H

#include <stdbool.h>

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "common/disk/rangeset.h"

/* How long a connection that breaks, or says nothing, is waited for and tried again; the
 * environment variable of this name changes it. */
enum { DISK_NBD_SECONDS = 60 };

/* Does it begin like such a URI? */
bool disk_nbd_is(const char *text);
/* ERR_IO: no connection, or no answer; ERR_ABSENT: libnbd is not on this machine;
 * ERR_CANCELLED. */
int disk_open_nbd(struct disk **, const char *uri, struct err *);
/* The sectors of a disk of disk_open_nbd() that are no holes; the caller's, sealed.
 * ERR_NOMEM. */
int disk_nbd_stored(const struct disk *, struct rangeset *, struct err *);

#endif /* COMMON_DISK_DISK_NBD_H */
