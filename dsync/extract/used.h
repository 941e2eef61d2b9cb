/* used.h: finds which bytes of a device its filesystems use, so that a first copy need not read and
 * send the free ones. */
#ifndef DSYNC_EXTRACT_USED_H
#define DSYNC_EXTRACT_USED_H

#include "common/disk/disk.h"
#include "common/disk/rangeset.h"

/* Find the used bytes of a disk that nobody writes meanwhile, as imagezip does; what is not
 * understood is used.  *used is sealed, and the caller's on success.  Errors of reading, and
 * whatever layout_make() refuses: the whole disk is used then. */
int used_find(struct disk *, struct rangeset *used_bytes, struct err *);

/* A file beside the state has the ranges that were never sent, because no filesystem used them;
 * in the copy they are zeros.  It has the form of a file of ranges (change/lines.h). */
/* Read the file; the set, in bytes, is added to and sealed.  No file: no ranges.  ERR_IO,
 * ERR_FORMAT, ERR_NOMEM. */
int used_read_unsent(
    const char *state_path, uint64_t device_bytes, struct rangeset *unsent_bytes, struct err *);
/* Replace the file; an empty set removes it.  The ranges must begin and end at multiples of 512
 * bytes, or at the end of the device.  ERR_IO, ERR_NOMEM. */
int used_write_unsent(const char *state_path, const struct rangeset *unsent_bytes, struct err *);

#endif /* DSYNC_EXTRACT_USED_H */
