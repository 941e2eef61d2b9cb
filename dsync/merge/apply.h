/* apply.h: writes records of a stream to a target, and reads them back. */
#ifndef DSYNC_MERGE_APPLY_H
#define DSYNC_MERGE_APPLY_H

#include <stdbool.h>

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "dsync/stream/stream.h"

struct apply;

/* The target is borrowed.  verify: what was written is read back from the medium.  discard:
 * zeros are also discarded.  ERR_NOMEM, ERR_IO. */
int apply_new(struct apply **, struct disk *target, bool verify, bool discard, struct err *);
void apply_free(struct apply *); /* NULL is fine; gathered records are not written */
/* Write a record, now or later; its data is copied.  ERR_IO: a write failed, or the target does
 * not hold what was written; ERR_CANCELLED. */
int apply_record(struct apply *, const struct stream_record *, struct err *);
/* Write all records that are gathered, read them back, and flush the target.  ERR_IO: a write
 * failed, or the target does not hold what was written to it; ERR_CANCELLED. */
int apply_finish(struct apply *, struct err *);

#endif /* DSYNC_MERGE_APPLY_H */
