/* readback.h: whether an image that was written can be read back as it was stored (--verify). */
#ifndef IMAGEZIP_CAPTURE_READBACK_H
#define IMAGEZIP_CAPTURE_READBACK_H

#include "common/image/format/sig.h"

/* Read the image file from where it is, not from what the kernel has cached of it, check it as an
 * installation does, and compare its data with the signature that was made while they were stored.
 * ERR_FORMAT: it is damaged, or differs; ERR_IO; ERR_NOMEM. */
int readback_check(const char *path, const struct sig *stored, struct err *);

#endif /* IMAGEZIP_CAPTURE_READBACK_H */
