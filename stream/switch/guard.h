/* guard.h: guards the server below a root filesystem that streams: when the server dies, another one
 * is started, and goes on. */
#ifndef STREAM_SWITCH_GUARD_H
#define STREAM_SWITCH_GUARD_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"

struct guard_config {
	const char *const *words; /* the server, and its arguments */
	size_t nwords;
	const char *socket; /* where it listens, for NBD */
	/* A file in memory for what must outlive it (stream/table/marks.h); it gets it as its
	 * parameter marks=FILE.  NULL: a server that dies is not started again. */
	const char *marks;
	const char *nbd; /* the block device /dev/nbdN to make of it; NULL: none */
	uint64_t sector_bytes; /* of that device */
};

/* Run the server until it has ended in order, whether it was told to end or the caller was
 * (cancel.h).  With a block device, the memory of this process is locked, and nothing else is needed
 * to start the server again but the server's own files; so they have to be where nothing is swapped
 * out (ramfs).  Where the server cannot be started again and the block device is in use, the machine is
 * reset, and this does not return.  ERR_IO: the server has failed before it served, or cannot be
 * started again, or what was written last may be lost; ERR_ABSENT: it is not installed; errors of
 * nbd_attach(). */
int guard_run(const struct guard_config *, struct err *);

#endif /* STREAM_SWITCH_GUARD_H */
