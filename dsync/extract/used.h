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

#endif /* DSYNC_EXTRACT_USED_H */
