/* nonzero.h: searches sectors of a disk for data of which nothing else is known. */
#ifndef COMMON_BEHIND_NONZERO_H
#define COMMON_BEHIND_NONZERO_H

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "common/disk/range.h"
#include "common/disk/rangeset.h"

enum { NONZERO_BLOCK_SECTORS = 8 };

/* Let *found, which may be empty, reach from the first to the last sector of `area` that
 * is not zero.  Sectors of `known` (NULL: none) count as zeros.  What cannot be read is
 * not found; its blocks, which begin at multiples of their size, are added to the open
 * set `bad` (NULL: nowhere).  ERR_NOMEM. */
int nonzero_find(struct range *found, struct disk *, struct range area,
    const struct rangeset *known, struct rangeset *bad, struct err *);

#endif /* COMMON_BEHIND_NONZERO_H */
