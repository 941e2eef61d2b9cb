/* claim.h: the right to write some sectors of a disk whose other partitions may be in
 * use. */
#ifndef COMMON_DISK_CLAIM_H
#define COMMON_DISK_CLAIM_H

#include "common/base/err.h"
#include "common/disk/range.h"

enum { CLAIM_MAX = 16 };

struct claim {
	unsigned n;
	int fd[CLAIM_MAX]; /* the kernel's partitions that have some of the sectors */
};

/* Claim sectors of the device or file `path`.  ERR_REFUSED: they are in use, as inuse.h
 * defines it, or another program holds a partition that has some of them.  From now on
 * nobody else can mount these partitions or open them exclusively.  ERR_IO: `path` cannot be
 * looked at; ERR_NOMEM. */
int claim_sectors(struct claim *, const char *path, struct range sectors, struct err *);
/* End a claim.  A claim that is all zeros is fine. */
void claim_release(struct claim *);

#endif /* COMMON_DISK_CLAIM_H */
