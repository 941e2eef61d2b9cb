/* disk_impl.h: what a struct disk is made of; for the files of the disk layer
 * only. */
#ifndef COMMON_DISK_DISK_IMPL_H
#define COMMON_DISK_DISK_IMPL_H

#include <stdatomic.h>

#include "common/disk/disk.h"

struct disk {
	char *name; /* owned */
	enum disk_kind kind;
	bool is_data; /* errors count its bytes, not sectors */
	bool unseen;  /* disk_unseen() */
	unsigned sector_bytes;
	int fd;                     /* -1 when there is none; the back end closes it */
	_Atomic uint64_t size;      /* UINT64_MAX when unknown */
	uint64_t read_at, write_at; /* streams: where the last transfer ended */
	struct disk_ops ops;
	void *ctx;
};

/* Open the file of a descriptor once more with O_DIRECT, so that it has a position and
 * flags of its own.  access: as of open(2).  -1 with errno: the file does not take direct
 * access. */
int disk_fd_direct(int fd, int access);

#endif /* COMMON_DISK_DISK_IMPL_H */
