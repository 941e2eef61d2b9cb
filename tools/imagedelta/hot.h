/* hot.h: which sectors of the disk that an image was made of every use of its filesystems
 * changes. */
#ifndef TOOLS_IMAGEDELTA_HOT_H
#define TOOLS_IMAGEDELTA_HOT_H

#include "common/disk/rangeset.h"
#include "common/image/read/sectors.h"

/* Add what the modules of the image's filesystems say of them (skip_hot() in fsmod.h) to the
 * set, and seal it.  Of a file, and of what no module recognises or trusts, nothing is known.
 * Errors as sectors_read(); ERR_NOMEM; ERR_CANCELLED. */
int hot_sectors(struct sectors *, struct rangeset *, struct err *);

#endif /* TOOLS_IMAGEDELTA_HOT_H */
