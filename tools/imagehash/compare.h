/* compare.h: a signature against a disk. */
#ifndef TOOLS_IMAGEHASH_COMPARE_H
#define TOOLS_IMAGEHASH_COMPARE_H

#include "common/disk/disk.h"
#include "common/disk/range.h"
#include "common/image/format/sig.h"

struct target {
	struct disk *disk;
	struct range slice; /* sectors of the disk; what is compared */
	bool any_length;
};

/* Open it, find the partition if one is named (0: the whole disk).  ERR_USAGE
 * when there is none, or the length is odd and not any_length. */
int compare_open(
    struct target *, const char *path, uint64_t slice, bool any_length, struct err *);
void compare_close(struct target *);
/* Does a record differ from what is on the disk?  1, 0, -1; what is behind the
 * end of the disk differs. */
int target_differs(
    struct target *, const struct sig *, const struct sig_record *, struct err *);

#endif /* TOOLS_IMAGEHASH_COMPARE_H */
