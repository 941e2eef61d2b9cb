/* sample.h: a digest of a few blocks of a target, by which another device, or one that was
 * written since, is told from the one that was merged into. */
#ifndef DSYNC_MERGE_SAMPLE_H
#define DSYNC_MERGE_SAMPLE_H

#include <stdint.h>

#include "common/base/err.h"
#include "common/base/sha256.h"
#include "common/disk/disk.h"

/* Of 64 blocks of 4 KiB, spread over `bytes` bytes, the first and the last among them. */
int sample_of(struct disk *, uint64_t bytes, uint8_t digest[SHA256_BYTES], struct err *);

#endif /* DSYNC_MERGE_SAMPLE_H */
