/* lines.h: a text file of ranges, a line each: the first sector of 512 bytes, and a count. */
#ifndef DSYNC_CHANGE_LINES_H
#define DSYNC_CHANGE_LINES_H

#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/rangeset.h"

/* Read the file at `path` and add its ranges, in bytes, to the set, which is sealed.  The last range
 * may reach up to the end of the sector in which the device of `device_bytes` ends.  ERR_FORMAT:
 * a line is no range, or not on the device; ERR_IO, ERR_NOMEM. */
int lines_read(
    const char *path, uint64_t device_bytes, struct rangeset *to_bytes, struct err *);

#endif /* DSYNC_CHANGE_LINES_H */
