/* uuid.h: checks that an image is the one that the user means (-u). */
#ifndef IMAGEUNZIP_UUID_H
#define IMAGEUNZIP_UUID_H

#include "common/base/err.h"
#include "imageunzip/run.h"

/* Called before anything is written. ERR_FORMAT: the image has another UUID than -u says. */
int uuid_check(const struct run *, struct err *);

#endif /* IMAGEUNZIP_UUID_H */
