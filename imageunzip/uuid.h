/* uuid.h: is it the image that is meant (-u)? */
#ifndef IMAGEUNZIP_UUID_H
#define IMAGEUNZIP_UUID_H

#include "common/base/err.h"
#include "imageunzip/run.h"

/* Before anything is written; ERR_FORMAT: it is another one. */
int uuid_check(const struct run *, struct err *);

#endif /* IMAGEUNZIP_UUID_H */
