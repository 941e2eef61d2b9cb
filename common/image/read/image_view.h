/* image_view.h: an image that can be read by sector, as a disk for readers of partition tables
 * and filesystems.  What the image does not store is zeros.
 */
#ifndef COMMON_IMAGE_READ_IMAGE_VIEW_H
#define COMMON_IMAGE_READ_IMAGE_VIEW_H

#include "common/disk/disk.h"
#include "common/image/read/sectors.h"

/* The caller's, until the disk is closed. */
struct image_view {
	struct sectors *image; /* borrowed */
	/* The first read that failed, ERR_NONE: all were good.  Who reads a disk may go on
	 * without what cannot be read; an image that is damaged is another matter. */
	struct err why;
};

/* Open the image as a disk; the caller closes it.  Only one thread may read it.  ERR_NOMEM. */
int image_view_open(
    struct disk **, struct image_view *, struct sectors *image, struct err *);
/* Fails with the error of the first read that failed. */
int image_view_check(const struct image_view *, struct err *);

#endif /* COMMON_IMAGE_READ_IMAGE_VIEW_H */
