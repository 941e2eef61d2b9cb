/* swap.h: whether swap space holds a suspended system. */
#ifndef FSMODS_SWAP_H
#define FSMODS_SWAP_H

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "common/disk/range.h"

/* Does this partition hold the memory of a suspended system, which goes on from there
 * when the machine starts?  1, 0, or -1: it cannot be read. */
int swap_is_suspended(struct disk *, struct range part, struct err *);

#endif /* FSMODS_SWAP_H */
