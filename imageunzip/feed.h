/* feed.h: the chunks of an image, checked, to the installation. */
#ifndef IMAGEUNZIP_FEED_H
#define IMAGEUNZIP_FEED_H

#include "common/base/err.h"
#include "imageunzip/run.h"

/* All of them; what went wrong says of which chunk. */
int feed_all(struct run *, struct err *);

#endif /* IMAGEUNZIP_FEED_H */
