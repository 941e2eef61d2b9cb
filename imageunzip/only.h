/* only.h: which chunks of an image file are read when only some of its partitions are
 * installed (--only). */
#ifndef IMAGEUNZIP_ONLY_H
#define IMAGEUNZIP_ONLY_H

#include "common/base/err.h"
#include "imageunzip/run.h"

/* Behind install_open(): find the partitions in the image, and mark in run.wanted the
 * chunks that have something of them, and the last one.  Of a pipe nothing can be known
 * before: then run.wanted stays NULL.  *sectors: how many are installed.  What does not
 * fit, or is not there, is refused. */
int only_prepare(struct run *, uint64_t *sectors, struct err *);

#endif /* IMAGEUNZIP_ONLY_H */
