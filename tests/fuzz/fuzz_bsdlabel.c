/* BSD disklabels, with the checksum put right: whatever is accepted is sound, and a
 * scan of a slice that is not at the beginning of its disk stays inside of it. */
#include <stdlib.h>

#include "common/disk/bsdlabel.h"
#include "fsmods/fsmod.h"
#include "tests/fuzz/sparse_disk.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

enum { LABEL_SECTOR = 1, SUM_AT = 136, PARTS_AT = 148, SLICE_AT = 63 };

/* Sector 1 of the slice gets the checksum that it needs. */
static void
mend(uint8_t *b)
{
	size_t n = PARTS_AT + 16 * (size_t)((b[138] | b[139] << 8) % 23);

	b[SUM_AT] = b[SUM_AT + 1] = 0;
	for (size_t i = 0; i < n; i++)
		if ((i | 1) != (SUM_AT | 1))
			b[SUM_AT + i % 2] ^= b[i];
}

static ssize_t
mending_pread(void *ctx, void *buf, size_t len, uint64_t off)
{
	ssize_t n = sparse_pread(ctx, buf, len, off);

	if (n == 512 &&
	    (off == LABEL_SECTOR * 512 || off == (SLICE_AT + LABEL_SECTOR) * 512))
		mend(buf);
	return n;
}

static void
try_slice(struct disk *d, struct range slice)
{
	struct fs_scan found;
	struct bsdlabel l;
	struct err e;

	if (bsdlabel_found(d, slice, &e) != 1)
		return;
	if (bsdlabel_read(&l, d, slice, &e) == 0)
		for (unsigned i = 0; i < l.nparts; i++)
			if (!range_within(l.parts[i].sectors, slice.len) ||
			    l.parts[i].sectors.len == 0 ||
			    (i > 0 && l.parts[i].sectors.off <
					  range_end(l.parts[i - 1].sectors)))
				abort();
	if (fsmods_scan_as(&fsmod_bsdlabel, d, slice, &found, &e) != 0 ||
	    found.fs_end != slice.len)
		abort();
	if (rangeset_count(&found.skip) > 0 && rangeset_get(&found.skip, 0).off < 128)
		abort();
	fs_scan_free(&found);
}

static void
try_disk(struct disk *d, uint64_t sectors)
{
	try_slice(d, (struct range){ 0, sectors });
	if (sectors > SLICE_AT)
		try_slice(d, (struct range){ SLICE_AT, sectors - SLICE_AT });
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const struct disk_ops mending = { .pread = mending_pread };

	sparse_try_both(data, len, &mending, try_disk);
	return 0;
}
