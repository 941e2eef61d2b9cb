/* status.h: reports whether the installation on a disk is complete. */
#ifndef IMAGEUNZIP_STATUS_H
#define IMAGEUNZIP_STATUS_H

#include "common/base/err.h"
#include "imageunzip/options.h"

/* Print the status of the disk at `path` (--status). Fails with ERR_IO when an
 * installation is not complete. */
int status_show(const struct opts *, const char *path, struct err *);

#endif /* IMAGEUNZIP_STATUS_H */
