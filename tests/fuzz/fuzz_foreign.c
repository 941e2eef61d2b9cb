/* Members of arrays and pools, on any disk, and metadata at its end: the search ends
 * and what it finds has a name or a place; a scan of such a partition skips nothing. */
#include <string.h>

#include "fsmods/foreign.h"
#include "fsmods/fsmod.h"
#include "common/behind/end_signature.h"
#include "tests/fuzz/sparse_disk.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

/* What is found at its end lies in it, behind the floor. */
static void
try_end(struct disk *d, struct range part)
{
	struct end_signature found[END_SIGNATURES_MAX];
	uint64_t floor = part.len / 2;
	size_t n = end_signature_find_behind(d, part, floor, found);

	for (size_t i = 0; i < n; i++)
		if (found[i].sectors.off < part.off + floor ||
		    found[i].sectors.len == 0 ||
		    range_end(found[i].sectors) != range_end(part))
			abort();
}

static void
try_partition(struct disk *d, struct range part)
{
	try_end(d, part);
	const char *name = foreign_find(d, part);
	struct fs_scan found;
	struct err e;

	if (name == NULL)
		return;
	if (strnlen(name, 64) == 0 || strnlen(name, 64) == 64)
		abort();
	if (fsmods_scan(d, part, FS_ALONE, &found, &e) != 0)
		abort();
	if (rangeset_count(&found.skip) != 0 ||
	    (found.mod != NULL && found.warning[0] == '\0'))
		abort();
	fs_scan_free(&found);
}

/* As a whole disk, and as a partition that begins at an odd sector of it. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct sparse_disk s;
	struct disk *d = sparse_open(&s, data, len);
	struct err e;

	if (d == NULL)
		return 0;
	uint64_t sectors = s.bytes / SECTOR_BYTES;
	try_partition(d, (struct range){ 0, sectors });
	if (sectors > 63)
		try_partition(d, (struct range){ 63, sectors - 63 });
	disk_close(d, &e);
	return 0;
}
