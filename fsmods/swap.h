/* swap.h: whether swap space holds a suspended system. */
#ifndef FSMODS_SWAP_H
#define FSMODS_SWAP_H

#include <stdbool.h>

#include "common/disk/disk.h"
#include "common/disk/range.h"

/* Does this partition hold the memory of a suspended system, which goes on from there
 * when the machine starts?  Returns false also when the partition cannot be read. */
bool swap_is_suspended(struct disk *, struct range part);

#endif /* FSMODS_SWAP_H */
