/* disk_file.h: the file descriptor back end of disk.h. */
#ifndef COMMON_DISK_DISK_FILE_H
#define COMMON_DISK_DISK_FILE_H

#include "common/disk/disk.h"

struct disk_file {
	int fd;
	const char *name; /* the path, or "stdin", "stdout"; borrowed */
	enum disk_kind kind;
	unsigned sector_bytes;
	uint64_t size_bytes;
};

/* The ctx of these operations is the descriptor, as an intptr_t. */
extern const struct disk_ops disk_file_ops;

/* Open a path as disk_open() does. */
int disk_file_open(struct disk_file *, const char *path, unsigned flags, struct err *);
void disk_file_close(struct disk_file *);
/* Tell the kernel to read the partition table again (BLKRRPART): 0, or -1 with errno. */
int disk_file_reread_partitions(int fd);

#endif /* COMMON_DISK_DISK_FILE_H */
