/* claim.h: the right to write some sectors of a disk whose other partitions may be in
 * use. */
#ifndef COMMON_DISK_CLAIM_H
#define COMMON_DISK_CLAIM_H

#include "common/base/err.h"
#include "common/disk/range.h"

enum { CLAIM_MAX = 16 };

struct claim {
	unsigned n;
	int fd[CLAIM_MAX]; /* of the kernel's partitions with these sectors */
};

/* Of the device or file of that name.  ERR_REFUSED: somebody uses them, as inuse.h
 * defines it, or another program holds a partition that has some of them.  From now on
 * nobody else gets these partitions exclusively, and they are not mounted. */
int claim_sectors(struct claim *, const char *path, struct range sectors, struct err *);
/* Also of one that is all zeros. */
void claim_release(struct claim *);

#endif /* COMMON_DISK_CLAIM_H */
