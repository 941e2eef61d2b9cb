/* slice_hold.h: installations into different partitions of one disk go on at once (-s,
 * --only): each holds its partition, and shares the disk. */
#ifndef IMAGEUNZIP_INSTALL_SLICE_HOLD_H
#define IMAGEUNZIP_INSTALL_SLICE_HOLD_H

#include "common/disk/hold.h"
#include "imageunzip/install/install.h"

/* Hold partition cfg->slice of the target, or those of cfg->only, until hold_end().  *out is
 * NULL when all of the target is installed to, or when it can have no partitions.
 * ERR_ABSENT: it does not have one of these; ERR_REFUSED: one is in use. */
int slice_hold(struct disk_hold **out, const char *target, const struct install_config *,
    struct err *);

#endif /* IMAGEUNZIP_INSTALL_SLICE_HOLD_H */
