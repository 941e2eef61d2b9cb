/* find.h: finds which tracker of changes a device of the device mapper has. */
#ifndef DSYNC_CHANGE_FIND_H
#define DSYNC_CHANGE_FIND_H

#include "common/base/err.h"

enum { FIND_SINCE_BYTES = 300 }; /* a source of change, with its NUL */

/* Set `since` to "era:METADATA" or "thin:POOL" for a device of the device mapper, named as NAME
 * or by a path, as "dmsetup table" describes it.  ERR_USAGE: the device has no tracker, or is not a device of
 * the device mapper.  ERR_IO. */
int find_tracker(const char *device, char since[FIND_SINCE_BYTES], struct err *);

#endif /* DSYNC_CHANGE_FIND_H */
