/* sample.c: reads and hashes some blocks of a target.  merge.c and resume.c call this, in one
 * thread, before and after a merge. */
#include "dsync/merge/sample.h"

#include <stdlib.h>
#include <string.h>

struct range
sample_block(uint64_t bytes, unsigned i)
{
	uint64_t last = bytes > SAMPLE_BLOCK_BYTES ? bytes - SAMPLE_BLOCK_BYTES : 0;
	uint64_t at = last / (SAMPLE_BLOCKS - 1) * i / SAMPLE_BLOCK_BYTES * SAMPLE_BLOCK_BYTES;

	return (struct range){ i == SAMPLE_BLOCKS - 1 ? last : at,
		bytes < SAMPLE_BLOCK_BYTES ? bytes : SAMPLE_BLOCK_BYTES };
}

int
sample_read(struct disk *d, uint64_t bytes, uint8_t *all, struct err *e)
{
	uint64_t before = UINT64_MAX;
	int rc = 0;

	memset(all, 0, (size_t)SAMPLE_BLOCKS * SAMPLE_BLOCK_BYTES);
	for (unsigned i = 0; rc == 0 && i < SAMPLE_BLOCKS; i++) {
		struct range r = sample_block(bytes, i);
		uint8_t *to = all + (size_t)i * SAMPLE_BLOCK_BYTES;
		if (r.off == before) /* a small target */
			memcpy(to, to - SAMPLE_BLOCK_BYTES, SAMPLE_BLOCK_BYTES);
		else
			rc = disk_read(d, to, (size_t)r.len, r.off, e);
		before = r.off;
	}
	return rc;
}

int
sample_of(struct disk *d, uint64_t bytes, uint8_t digest[SHA256_BYTES], struct err *e)
{
	uint8_t *all = malloc((size_t)SAMPLE_BLOCKS * SAMPLE_BLOCK_BYTES);

	if (all == NULL)
		return err_nomem(e, "a sample");
	int rc = sample_read(d, bytes, all, e);
	if (rc == 0)
		sha256(all, (size_t)SAMPLE_BLOCKS * SAMPLE_BLOCK_BYTES, digest);
	free(all);
	return rc;
}

static void
mark_one(const uint8_t *all, unsigned i, uint8_t mark[SAMPLE_MARK_BYTES])
{
	uint8_t digest[SHA256_BYTES];

	sha256(all + (size_t)i * SAMPLE_BLOCK_BYTES, SAMPLE_BLOCK_BYTES, digest);
	memcpy(mark, digest, SAMPLE_MARK_BYTES);
}

void
sample_mark(const uint8_t *all, struct sample_marks *m)
{
	for (unsigned i = 0; i < SAMPLE_BLOCKS; i++)
		mark_one(all, i, m->of + (size_t)i * SAMPLE_MARK_BYTES);
}

bool
sample_has(const uint8_t *all, unsigned i, const struct sample_marks *m)
{
	uint8_t mark[SAMPLE_MARK_BYTES];

	mark_one(all, i, mark);
	return memcmp(mark, m->of + (size_t)i * SAMPLE_MARK_BYTES, sizeof mark) == 0;
}
