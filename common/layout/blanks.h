/* blanks.h: free inodes, which -M stores as zeros, except a field that must be kept. */
#ifndef COMMON_LAYOUT_BLANKS_H
#define COMMON_LAYOUT_BLANKS_H

#include <stddef.h>
#include <stdint.h>

#include "fsmods/fsmod.h"

/* Free records, which do not overlap, in order of place once they are settled; at_bytes
 * counts from the image's sector 0. */
struct blanks {
	size_t n, cap;
	struct fs_records *v; /* owned */
};

void blanks_free(struct blanks *); /* the struct is empty afterwards */
/* Add the free inodes of a partition that was scanned without failure and begins at this
 * sector of the image, without those in `raw`, whose sectors are relative to the
 * partition. Partitions come in any order, and do not overlap. ERR_FORMAT, ERR_NOMEM, or
 * errors of reading. */
int blanks_find(struct blanks *, const struct fsmod *, struct disk *, struct range part,
    uint64_t image_sector, const struct rangeset *raw, struct err *);
/* Sort the records, when those of all partitions were added. */
void blanks_settle(struct blanks *);
/* Blank the free inodes in buf, which holds these sectors of the image. */
void blanks_apply(const struct blanks *, struct range sectors, uint8_t *buf);

#endif /* COMMON_LAYOUT_BLANKS_H */
