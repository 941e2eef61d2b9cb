/* bsdparts.h: applies -I and -R to partitions inside a BSD slice ("1e"). */
#ifndef COMMON_LAYOUT_BSDPARTS_H
#define COMMON_LAYOUT_BSDPARTS_H

#include "common/layout/layout.h"
#include "common/layout/what.h"
#include "fsmods/fsmod.h"

/* Change the result of a scan of partition `number` (0: the source has no table):
 * partitions inside it that are ignored (-I) are skipped, and are added to the empty set
 * *ignored; those that are raw (-R) are not skipped, and are added to the empty set *raw.
 * Both sets are sealed. ERR_ABSENT when the slice has no such partition, ERR_REFUSED when
 * its disklabel is in doubt. */
int bsdparts_apply(struct fs_scan *, struct rangeset *raw, struct rangeset *ignored,
    struct disk *, struct range slice, unsigned number, const struct capture_what *,
    struct err *);
/* ERR_USAGE when a partition is named that the layout does not look into. */
int bsdparts_check_used(const struct layout *, const struct capture_what *, struct err *);

#endif /* COMMON_LAYOUT_BSDPARTS_H */
