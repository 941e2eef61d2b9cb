/* find.h: which tracker a device of the device mapper has. */
#ifndef DSYNC_CHANGE_FIND_H
#define DSYNC_CHANGE_FIND_H

#include "common/base/err.h"

enum { FIND_SINCE_BYTES = 300 };

/* "era:METADATA" or "thin:POOL" for NAME or /dev/mapper/NAME, as "dmsetup table" has it.
 * ERR_USAGE: the device has no tracker, or is none of the device mapper's. */
int find_tracker(const char *device, char since[FIND_SINCE_BYTES], struct err *);

#endif /* DSYNC_CHANGE_FIND_H */
