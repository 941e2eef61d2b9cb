/* shrink.h: a disk as it would be if it were only as large as its files need (--shrink).  The
 * disk itself is not changed: the tools work on a copy-on-write view of it (view.h). */
#ifndef IMAGEZIP_SHRINK_SHRINK_H
#define IMAGEZIP_SHRINK_SHRINK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/behind/behind.h"
#include "common/disk/disk.h"
#include "common/resize/resize.h"

struct shrink;

struct shrink_how {
	/* The source is one filesystem, and what looks like a partition table in it is
	 * none. */
	bool bare;
	bool drop_end; /* what has an owner behind the last partition is left out, too */
	uint64_t spare_bytes;
};

struct shrink_result {
	uint64_t was_sectors, is_sectors; /* of the disk */
	unsigned partition; /* the last one; 0: the source is one filesystem */
	struct resize fs;   /* of the filesystem in it */
	/* What is cut off behind the last partition, and in it behind its filesystem. */
	struct behind disks, parts;
};

/* Make the filesystem in the last partition of the source, or in the source itself, as
 * small as its tool can, and spare_bytes larger; end the partition behind it, at a
 * multiple of 1 MiB, and the disk behind the partition.  A filesystem that cannot be made
 * smaller keeps its length, and the disk ends behind it; shrink_result() says why.  So
 * does a filesystem behind which something lies that has an owner, such as a dm-verity
 * tree.  ERR_REFUSED: something that has an owner lies behind the last partition, and
 * would be cut off; or a system is suspended on the disk.  ERR_UNSUPPORTED: the source is
 * no file and no block device; ERR_ABSENT: a tool is not installed; errors of resize.h,
 * ptable.h and view.h. */
int shrink_begin(
    struct shrink **, struct disk *source, const struct shrink_how *, struct err *);
/* The smaller disk, for reading, with the name of the source.  It is closed by shrink_end(). */
struct disk *shrink_disk(struct shrink *);
const struct shrink_result *shrink_result(const struct shrink *);
/* NULL is fine. */
void shrink_end(struct shrink *);

#endif /* IMAGEZIP_SHRINK_SHRINK_H */
