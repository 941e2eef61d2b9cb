/* sample.c: reads and hashes some blocks of a target.  merge.c calls this, in one thread,
 * before and after a merge. */
#include "dsync/merge/sample.h"

#include <stdlib.h>

enum { BLOCKS = 64, BLOCK_BYTES = 4096 };

int
sample_of(struct disk *d, uint64_t bytes, uint8_t digest[SHA256_BYTES], struct err *e)
{
	uint8_t *all = calloc(BLOCKS, BLOCK_BYTES);
	uint64_t last = bytes > BLOCK_BYTES ? bytes - BLOCK_BYTES : 0;
	int rc = 0;

	if (all == NULL)
		return err_nomem(e, "a sample");
	for (uint64_t i = 0; rc == 0 && i < BLOCKS; i++) {
		uint64_t at = last / (BLOCKS - 1) * i;
		at = i == BLOCKS - 1 ? last : at / BLOCK_BYTES * BLOCK_BYTES;
		size_t n = bytes < BLOCK_BYTES ? (size_t)bytes : BLOCK_BYTES;
		rc = disk_read(d, all + i * BLOCK_BYTES, n, at, e);
	}
	if (rc == 0)
		sha256(all, (size_t)BLOCKS * BLOCK_BYTES, digest);
	free(all);
	return rc;
}
