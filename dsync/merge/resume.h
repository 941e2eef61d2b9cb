/* resume.h: whether a target is still the one that an interrupted merge was writing to. */
#ifndef DSYNC_MERGE_RESUME_H
#define DSYNC_MERGE_RESUME_H

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "dsync/merge/sample.h"
#include "dsync/stream/stream.h"

/* Mark what a target of `bytes` bytes holds before a merge.  No mark is made (all zeros) of one that
 * will get another size.  ERR_IO, ERR_NOMEM. */
int resume_mark(struct disk *target, uint64_t bytes, struct sample_marks *, struct err *);
/* Read the whole stream, which is being applied, and compare the target with the marks and with
 * the stream.  A sampled block that the stream does not write must be as it was; of those that
 * it writes, at least half must be as they were or as they will be, if there are enough: a
 * power cut can leave some in a state between.  ERR_REFUSED: it is another target, or was
 * written since.  ERR_FORMAT: the stream is damaged. */
int resume_check(struct disk *target, uint64_t bytes, const struct sample_marks *,
    struct stream_in *, struct err *);

#endif /* DSYNC_MERGE_RESUME_H */
