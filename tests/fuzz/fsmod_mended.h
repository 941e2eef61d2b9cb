/* fsmod_mended.h: the fuzz target of a module whose metadata has checksums: every
 * input is run as it is, and with the checksums put right in what is read, so
 * that what lies behind them is reached.
 *
 * Define FSMOD and MEND, a function that puts right the checksum of one read of
 * len bytes; then include this. */
#include <stdio.h>

#include "tests/fuzz/sparse_disk.h"

void MEND(uint8_t *, size_t);

static ssize_t
mended_pread(void *ctx, void *buf, size_t len, uint64_t off)
{
	ssize_t n = sparse_pread(ctx, buf, len, off);

	if (n > 0)
		MEND(buf, (size_t)n);
	return n;
}

#define LLVMFuzzerTestOneInput plain_target
#include "tests/fuzz/fsmod_target.h"
#undef LLVMFuzzerTestOneInput

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const struct disk_ops ops = { .pread = mended_pread };
	struct sparse_disk s;
	struct disk *d = sparse_open(&s, data, len), *mended;
	struct fs_scan found;
	struct err e;

	if (d == NULL)
		return plain_target(data, len);
	disk_close(d, &e);
	if (disk_open_ops(&mended, "mended", DISK_FILE, s.bytes, &ops, &s, &e) != 0)
		abort();
	struct range part = { 0, s.bytes / 512 };
	if (FSMOD.probe(mended, part, &e) == 1) {
		if (fsmods_scan_here(&FSMOD, mended, part, &found, &e) != 0)
			abort();
		if (getenv("FUZZ_SAY") != NULL)
			fprintf(stderr, "skip %llu %s\n",
			    (unsigned long long)rangeset_total(&found.skip),
			    found.warning);
		fs_scan_free(&found);
	}
	disk_close(mended, &e);
	return plain_target(data, len);
}
