/* sample.h: digests of a few blocks of a target.  They show that a target is another device, or
 * was written since the last merge. */
#ifndef DSYNC_MERGE_SAMPLE_H
#define DSYNC_MERGE_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/base/sha256.h"
#include "common/disk/disk.h"
#include "common/disk/range.h"

enum {
	SAMPLE_BLOCKS = 64,
	SAMPLE_BLOCK_BYTES = 4096,
	SAMPLE_MARK_BYTES = 8,
};

/* The first bytes of the digest of each block, one behind the other. */
struct sample_marks {
	uint8_t of[SAMPLE_BLOCKS * SAMPLE_MARK_BYTES];
};

/* The i-th of 64 blocks of 4 KiB that are spread over `bytes` bytes, the first and the last block
 * among them; of fewer bytes than a block, all. */
struct range sample_block(uint64_t bytes, unsigned i);
/* Hash all of these blocks.  ERR_IO, ERR_NOMEM. */
int sample_of(struct disk *, uint64_t bytes, uint8_t digest[SHA256_BYTES], struct err *);
/* Read all of them into `all`, of SAMPLE_BLOCKS * SAMPLE_BLOCK_BYTES bytes.  ERR_IO. */
int sample_read(struct disk *, uint64_t bytes, uint8_t *all, struct err *);
/* Make the marks of blocks that sample_read() has read. */
void sample_mark(const uint8_t *all, struct sample_marks *);
/* Has the i-th block of `all` this mark? */
bool sample_has(const uint8_t *all, unsigned i, const struct sample_marks *);

#endif /* DSYNC_MERGE_SAMPLE_H */
