/* readback.h: reads what was written to a target from the medium, and compares it. */
#ifndef DSYNC_MERGE_READBACK_H
#define DSYNC_MERGE_READBACK_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "common/disk/range.h"

/* Bytes that were written, and the offset of their data; SIZE_MAX: they are zeros. */
struct written {
	struct range bytes;
	size_t at;
};

struct readback;

/* The target is borrowed.  ERR_NOMEM, ERR_IO. */
int readback_new(struct readback **, struct disk *target, struct err *);
void readback_free(struct readback *); /* NULL is fine */
/* Begin to compare n ranges with the target; their `at` counts from `data`.  Both are borrowed until
 * readback_end(), which must come before the next begin; meanwhile nothing may be written to these
 * ranges.  Several threads read at once.  ERR_NOMEM. */
int readback_begin(struct readback *, const struct written *, size_t n, const uint8_t *data,
    struct err *);
/* Wait until what was begun is compared; nothing may have been begun.  ERR_IO: the target does not
 * hold what was written to it; ERR_CANCELLED. */
int readback_end(struct readback *, struct err *);

#endif /* DSYNC_MERGE_READBACK_H */
