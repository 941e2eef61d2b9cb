/* estimate.h: how large would the image be?  Some windows of what would be stored
 * are compressed as they would be. */
#ifndef IMAGEZIP_CAPTURE_ESTIMATE_H
#define IMAGEZIP_CAPTURE_ESTIMATE_H

#include "common/disk/disk.h"
#include "imagezip/capture/layout.h"
#include "imagezip/capture/what.h"

/* Fill in image_bytes of the layout and of every partition. */
int estimate(struct layout *, struct disk *, const struct capture_what *, struct err *);

#endif /* IMAGEZIP_CAPTURE_ESTIMATE_H */
