/* relocate.h: finds data of a captured partition that depends on where the partition
 * lies. */
#ifndef IMAGEZIP_CAPTURE_RELOCATE_H
#define IMAGEZIP_CAPTURE_RELOCATE_H

#include "common/disk/disk.h"
#include "imagezip/capture/layout.h"
#include "imagezip/capture/what.h"

/* Fill layout->relocs for a partition that was laid out: by default only when it does not
 * begin at sector 0. What cannot be relocated is stored as it is, with a warning. -1:
 * ERR_NOMEM; ERR_UNSUPPORTED: a delta of a partition with LILO. */
int relocate(struct layout *, struct disk *, const struct capture_what *, struct err *);

#endif /* IMAGEZIP_CAPTURE_RELOCATE_H */
