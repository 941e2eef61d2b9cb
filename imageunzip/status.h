/* status.h: is the installation on a disk complete? */
#ifndef IMAGEUNZIP_STATUS_H
#define IMAGEUNZIP_STATUS_H

#include "common/base/err.h"
#include "imageunzip/options.h"

/* --status: fails when an installation is not complete. */
int status_show(const struct opts *, const char *path, struct err *);

#endif /* IMAGEUNZIP_STATUS_H */
