/* fsmod_target.h: the fuzz target of one filesystem module: define FSMOD (the
 * module's table) and include this.  Whatever the disk holds, a scan ends, and
 * what it wants skipped lies in the partition (the sink checks it; nothing may
 * get past the sink), and so do free inodes. */
#include <stdlib.h>

#include "fsmods/fsmod.h"
#include "tests/fuzz/sparse_disk.h"

extern const struct fsmod FSMOD;
int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static int
check_inodes(void *part, const struct fs_records *r, struct err *e)
{
	uint64_t bytes = ((struct range *)part)->len * SECTOR_BYTES;

	(void)e;
	if (r->count == 0 || r->record_bytes == 0 ||
	    SECTOR_BYTES % r->record_bytes != 0 || r->at_bytes % r->record_bytes != 0 ||
	    r->at_bytes > bytes ||
	    (uint64_t)r->count * r->record_bytes > bytes - r->at_bytes ||
	    r->keep_at + r->keep_bytes > r->record_bytes)
		abort();
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct sparse_disk s;
	struct disk *d = sparse_open(&s, data, len);
	struct fs_scan found;
	struct err e;

	if (d == NULL)
		return 0;
	struct range part = { 0, s.bytes / 512 };
	if (FSMOD.probe(d, part, &e) == 1) {
		if (fsmods_scan_here(&FSMOD, d, part, &found, &e) != 0)
			abort(); /* no memory: asked for too much */
		if (found.fs_end > part.len)
			abort();
		if (!found.failed && FSMOD.free_inodes != NULL &&
		    FSMOD.free_inodes(d, part, check_inodes, &part, &e) != 0 &&
		    e.kind == ERR_NOMEM)
			abort();
		fs_scan_free(&found);
	}
	disk_close(d, &e);
	return 0;
}
