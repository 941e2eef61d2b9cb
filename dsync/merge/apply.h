/* apply.h: records of a stream are written to a target, and read back. */
#ifndef DSYNC_MERGE_APPLY_H
#define DSYNC_MERGE_APPLY_H

#include <stdbool.h>

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "dsync/stream/stream.h"

struct apply;

/* The target is borrowed.  verify: what was written is read back from the medium. */
int apply_new(struct apply **, struct disk *target, bool verify, bool discard, struct err *);
void apply_free(struct apply *); /* NULL is fine; what was not finished is not written */
/* Write a record, now or later. */
int apply_record(struct apply *, const struct stream_record *, struct err *);
/* Write all of them, prove them, and flush the target.  ERR_IO: the target does not hold what
 * was written to it. */
int apply_finish(struct apply *, struct err *);

#endif /* DSYNC_MERGE_APPLY_H */
