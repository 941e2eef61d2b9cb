/* raw.h: the chunks of an image as they are, for -N. */
#ifndef IMAGEUNZIP_RAW_H
#define IMAGEUNZIP_RAW_H

#include "common/base/err.h"
#include "imageunzip/run.h"

/* Checked on their way.  A new file that did not get whole is removed. */
int raw_copy(struct run *, const char *target, struct err *);

#endif /* IMAGEUNZIP_RAW_H */
