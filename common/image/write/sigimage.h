/* sigimage.h: the signature of an image file, from the data that it stores. */
#ifndef COMMON_IMAGE_WRITE_SIGIMAGE_H
#define COMMON_IMAGE_WRITE_SIGIMAGE_H

#include "common/image/format/sig.h"
#include "common/image/read/sectors.h"

/* Make the signature that imagezip -U writes.  fix(), where it is not NULL, may change the
 * data of stored sectors before they are hashed, as relocations do.  The caller frees *s. */
int sig_of_image(struct sig *s, struct sectors *, enum sig_hash, uint32_t block_sectors,
    int (*fix)(void *arg, struct range, void *data, struct err *), void *arg,
    struct err *);

#endif /* COMMON_IMAGE_WRITE_SIGIMAGE_H */
