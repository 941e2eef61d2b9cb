/* from_impl.h: an image that is being fed, for from.c and from_only.c. */
#ifndef IMAGEUNZIP_INSTALL_FROM_IMPL_H
#define IMAGEUNZIP_INSTALL_FROM_IMPL_H

#include "imageunzip/install/from.h"

struct feed {
	struct install *install;
	struct image *image;
	bool *wanted; /* for each chunk, with --only; NULL: all are wanted */
	const struct install_from_watch *watch;
};

/* Find the partitions of --only in the image, and mark in `wanted` the chunks that have
 * something of them, and the last one. For an image from a pipe nothing can be known
 * before, and `wanted` stays NULL. *sectors: how many will be installed; 0: not known.
 * ERR_REFUSED: a partition does not fit; ERR_USAGE: the image does not have it. */
int feed_choose(struct feed *, uint64_t *sectors, struct err *);

/* Before a whole image is installed that does not say how far its partitions reach: find
 * out. ERR_REFUSED: the target would cut one of them. */
int feed_look(struct feed *, struct err *);

#endif /* IMAGEUNZIP_INSTALL_FROM_IMPL_H */
