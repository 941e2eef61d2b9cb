/* btrfs: every input as it is, and again on a disk that puts the checksums right
 * while it is read, so that what they protect is reached, too. */
#include <stdlib.h>

#include "fsmods/btrfs/btrfs.h"
#include "tests/fuzz/sparse_disk.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

enum { SUM_TYPE_AT = 196, NODE_BYTES_AT = 148, MAGIC_AT = 64 };

static void
mend(const struct sparse_disk *s, uint8_t *block, size_t len)
{
	uint8_t super[BTRFS_SUPER_BYTES] = { 0 };

	sparse_pread((void *)(uintptr_t)s, super, sizeof super, btrfs_super_at[0]);
	btrfs_sum(super[SUM_TYPE_AT] & 3, block + BTRFS_SUM_BYTES,
	    len - BTRFS_SUM_BYTES, block);
}

/* A superblock is read alone, nodes are read alone or in runs. */
static ssize_t
mending_pread(void *ctx, void *buf, size_t len, uint64_t off)
{
	struct sparse_disk *s = ctx;
	ssize_t n = sparse_pread(s, buf, len, off);
	uint8_t *b = buf, four[4] = { 0 };

	sparse_pread(s, four, sizeof four, btrfs_super_at[0] + NODE_BYTES_AT);
	struct rd r = rd_from(four, sizeof four);
	size_t node = rd_le32(&r);
	if (n != (ssize_t)len || len < BTRFS_SUPER_BYTES)
		return n;
	if (len == BTRFS_SUPER_BYTES && memcmp(b + MAGIC_AT, "_BHRfS_M", 8) == 0)
		mend(s, b, len);
	else if (node >= BTRFS_SUPER_BYTES)
		for (size_t at = 0; node <= len - at; at += node)
			mend(s, b + at, node);
	return n;
}

static void
try_disk(struct disk *d, uint64_t sectors)
{
	struct range part = { 0, sectors };
	struct fs_scan found;
	struct err e;

	if (fsmod_btrfs.probe(d, part, &e) == 1) {
		if (fsmods_scan_as(&fsmod_btrfs, d, part, &found, &e) != 0)
			abort(); /* no memory: asked for too much */
		if (found.fs_end > part.len)
			abort();
		fs_scan_free(&found);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const struct disk_ops mending = { .pread = mending_pread };

	sparse_try_both(data, len, &mending, try_disk);
	return 0;
}
