/* estimate.h: estimates how large an image would be, by compressing some windows of what
 * would be stored. */
#ifndef IMAGEZIP_CAPTURE_ESTIMATE_H
#define IMAGEZIP_CAPTURE_ESTIMATE_H

#include "common/disk/disk.h"
#include "common/layout/layout.h"
#include "common/layout/what.h"

/* Fill in image_bytes of the layout and of every partition. ERR_USAGE: the source cannot
 * be read twice. */
int estimate_layout(struct layout *, struct disk *, const struct capture_what *, struct err *);

#endif /* IMAGEZIP_CAPTURE_ESTIMATE_H */
