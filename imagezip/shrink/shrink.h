/* shrink.h: a disk as it would be if it were only as large as its files need (--shrink).  The
 * disk itself is not changed: each filesystem's tool works on a copy-on-write view of it
 * (view.h), and a partition that moves is a piece of the source or of a view that is shown at
 * another place (composite.h). */
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
	bool keep_gaps; /* what lies between partitions stays where it is */
	uint64_t spare_bytes; /* or RESIZE_SPARE_DEFAULT */
};

struct shrink_part {
	unsigned number;      /* 0: the source is one filesystem */
	struct range was, is; /* where it lies on the source, and on the smaller disk */
	struct resize fs;     /* of the filesystem in it */
	struct behind behind; /* what lies in it behind its filesystem */
	struct behind before; /* what lies between it and the partition before it */
	bool gap_left_out;    /* the unknown data of `before` is left out */
};

struct shrink_result {
	uint64_t was_sectors, is_sectors; /* of the disk */
	unsigned nparts;
	struct shrink_part parts[PTABLE_PARTS_MAX]; /* as they lie on the disk */
	struct behind disks; /* what is cut off behind the last partition */
};

/* Make the filesystems of the source as small as their tools can, and spare_bytes larger; end
 * each partition behind its filesystem, at a multiple of 1 MiB, move the partitions close
 * together, at multiples of 1 MiB, and end the disk behind the last one.  Up to the last
 * partition that must keep its first sector (stays.h; the first one always does), all stays as it
 * is, since nothing is gained there; so does a recovery partition's length, and a filesystem that
 * no tool makes smaller, or whose tool fails, behind which something lies that has an owner.
 * shrink_result() says why.  ntfsresize is tried again with more room when it fails.  A boot
 * sector in a partition that moves says its new place.  ERR_REFUSED: something that has an owner
 * lies behind the last partition, and would be cut off; or a system is suspended on the disk.
 * ERR_UNSUPPORTED: the source is no file and no block device; ERR_ABSENT: nbdkit or nbdfuse is
 * not installed; errors of ptable.h and view.h. */
int shrink_begin(
    struct shrink **, struct disk *source, const struct shrink_how *, struct err *);
/* The smaller disk, for reading, with the name of the source.  It is closed by shrink_end(). */
struct disk *shrink_disk(struct shrink *);
const struct shrink_result *shrink_result(const struct shrink *);
/* NULL is fine. */
void shrink_end(struct shrink *);

#endif /* IMAGEZIP_SHRINK_SHRINK_H */
