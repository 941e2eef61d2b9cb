/* identity.h: which generation of which file is being served. */
#ifndef FRISBEED_IDENTITY_H
#define FRISBEED_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/disk/disk.h"
#include "common/net/wirext.h"

/* Of the open file: the same as long as it is neither written nor cut.  Of an image in
 * a store: the same in every store. */
int identity_of(struct disk *, uint8_t id[WIREXT_IDENTITY_BYTES], struct err *);
/* Does its name still lead to the open file? */
bool identity_named(struct disk *);

#endif /* FRISBEED_IDENTITY_H */
