/* from_impl.h: an image that is being fed, for from.c and from_only.c. */
#ifndef IMAGEUNZIP_INSTALL_FROM_IMPL_H
#define IMAGEUNZIP_INSTALL_FROM_IMPL_H

#include "imageunzip/install/from.h"

struct feed {
	struct install *install;
	struct image *image;
	bool *wanted; /* of each chunk, with --only; NULL: all are */
	const struct install_from_watch *watch;
};

/* Find the partitions of --only in the image, and mark in `wanted` the chunks that have
 * something of them, and the last one.  Of a pipe nothing can be known before: then `wanted`
 * stays NULL.  *sectors: how many are installed.  What does not fit, or is not there, is
 * refused. */
int feed_choose(struct feed *, uint64_t *sectors, struct err *);

#endif /* IMAGEUNZIP_INSTALL_FROM_IMPL_H */
