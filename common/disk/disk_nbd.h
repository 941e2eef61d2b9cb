/* disk_nbd.h: the export of an NBD server as a disk that is only read.
 *
 * The URI is one of libnbd: nbd://HOST[:PORT]/EXPORT, nbd+unix:///EXPORT?socket=PATH, and with
 * TLS nbds:// and nbds+unix://, which may name a file with a key (tls-psk-file).  libnbd is
 * loaded when it is first needed, so that programs run without it where nobody asks for NBD.
 *
 * The server is asked once, when the disk is opened, which ranges are holes.  Holes read as
 * zeros without a request.  Several threads may read: each has a connection of its own
 * where the server allows several.  A connection that breaks is replaced, and the request is
 * sent again (retry.h), until nothing has come for DISK_NBD_SECONDS, in all tries together; a
 * request that the server refuses fails at once.  A
 * server whose export has another size at a later connection is an error.
 */
#ifndef COMMON_DISK_DISK_NBD_H
#define COMMON_DISK_DISK_NBD_H

#include <stdbool.h>

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "common/disk/rangeset.h"

/* How long nothing may come, while a connection is silent, and while one that broke is to be
 * replaced.  The environment variable of this name changes the time. */
enum { DISK_NBD_SECONDS = 60 };

/* Does the text begin like the URI of an NBD export? */
bool disk_nbd_is(const char *text);
/* Open an export.  ERR_IO: no connection, or no answer; ERR_ABSENT: libnbd is not on this
 * machine; ERR_CANCELLED. */
int disk_open_nbd(struct disk **, const char *uri, struct err *);
/* Make a sealed set, which becomes the caller's, of the sectors of a disk of disk_open_nbd() that
 * are no holes.  ERR_NOMEM. */
int disk_nbd_stored(const struct disk *, struct rangeset *, struct err *);
/* Let the server of an export flush what its clients have written, over a connection of its own.
 * Errors as of disk_open_nbd(). */
int disk_nbd_flush(const char *uri, struct err *);

#endif /* COMMON_DISK_DISK_NBD_H */
