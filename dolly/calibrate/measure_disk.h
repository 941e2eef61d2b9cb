/* measure_disk.h: how fast a disk takes what is written to it. */
#ifndef DOLLY_CALIBRATE_MEASURE_DISK_H
#define DOLLY_CALIBRATE_MEASURE_DISK_H

#include <stdbool.h>

#include "dolly/calibrate/measure.h"

/* Writes a file without a name into this folder for `seconds`, and removes it;
 * the file has at most 1 GiB, and then is written again from its beginning.  *direct:
 * the writes went to the disk directly (O_DIRECT); where a filesystem does not allow
 * that, each write waits until its bytes are on the disk (O_DSYNC).  ERR_IO names the
 * folder; ERR_NOMEM; ERR_CANCELLED. */
int measure_disk(
    struct measured *, const char *folder, double seconds, bool *direct, struct err *);

#endif /* DOLLY_CALIBRATE_MEASURE_DISK_H */
