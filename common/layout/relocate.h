/* relocate.h: finds data of a captured partition that depends on where the partition
 * lies. */
#ifndef COMMON_LAYOUT_RELOCATE_H
#define COMMON_LAYOUT_RELOCATE_H

#include "common/disk/disk.h"
#include "common/layout/layout.h"
#include "common/layout/what.h"

/* Fill layout->relocs for a partition that was laid out: by default only when it does not
 * begin at sector 0. What cannot be relocated is stored as it is, with a warning. -1:
 * ERR_NOMEM; ERR_UNSUPPORTED: a delta of a partition with LILO. */
int relocate_find(struct layout *, struct disk *, const struct capture_what *, struct err *);

#endif /* COMMON_LAYOUT_RELOCATE_H */
