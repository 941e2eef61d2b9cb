/* raw.h: copies the chunks of an image as they are, for -N. */
#ifndef IMAGEUNZIP_RAW_H
#define IMAGEUNZIP_RAW_H

#include "common/base/err.h"
#include "imageunzip/run.h"

/* Copy the image into the file `target`. The chunks are checked; a new file that is not
 * completed is removed. ERR_REFUSED: an existing file is no image, without --force. */
int raw_copy(struct run *, const char *target, struct err *);

#endif /* IMAGEUNZIP_RAW_H */
