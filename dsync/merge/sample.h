/* sample.h: a digest of a few blocks of a target.  It shows that a target is another device, or
 * was written since the last merge. */
#ifndef DSYNC_MERGE_SAMPLE_H
#define DSYNC_MERGE_SAMPLE_H

#include <stdint.h>

#include "common/base/err.h"
#include "common/base/sha256.h"
#include "common/disk/disk.h"

/* Hash 64 blocks of 4 KiB that are spread over `bytes` bytes, the first and the last block among
 * them; of fewer bytes than a block, all.  ERR_IO, ERR_NOMEM. */
int sample_of(struct disk *, uint64_t bytes, uint8_t digest[SHA256_BYTES], struct err *);

#endif /* DSYNC_MERGE_SAMPLE_H */
