/* compare.c: a block of the target is read and hashed, and compared with a record of the
 * signature.  main.c calls this in the first thread. */
#include "tools/imagehash/compare.h"

#include <inttypes.h>
#include <string.h>

#include "common/disk/ptable.h"
#include "common/image/write/sighash.h"
#include "fsmods/sectorsize.h"

/* Set t->slice to the sectors of the partition with this number. */
static int
find_slice(struct target *t, uint64_t number, struct err *e)
{
	struct ptable pt;

	if (ptable_read(&pt, t->disk, e) != 0)
		return -1;
	int rc = sectorsize_check(t->disk, &pt, e);
	const struct partition *p = ptable_find(&pt, (unsigned)number);
	if (rc == 0 && p == NULL)
		rc = err_set(e, ERR_ABSENT, "%s: has no partition %" PRIu64,
		    disk_name(t->disk), number);
	if (rc == 0)
		t->slice = p->sectors;
	ptable_free(&pt);
	return rc;
}

int
compare_open(
    struct target *t, const char *path, uint64_t slice, bool any_length, struct err *e)
{
	*t = (struct target){ .any_length = any_length };
	if (disk_open(&t->disk, path, DISK_READ, e) != 0)
		return -1;
	uint64_t bytes = disk_size_bytes(t->disk);
	t->slice.len = (bytes + SECTOR_BYTES - 1) / SECTOR_BYTES;
	int rc = 0;
	if (!disk_seekable(t->disk))
		rc = err_set(e, ERR_USAGE, "%s: a pipe cannot be compared", path);
	else if (bytes % SECTOR_BYTES != 0 && !any_length)
		rc = err_set(e, ERR_UNSUPPORTED,
		    "%s: its length, %" PRIu64 " bytes, is not a multiple of "
		    "512; use -r to compare it as a file",
		    path, bytes);
	else if (slice != 0)
		rc = find_slice(t, slice, e);
	if (rc != 0)
		compare_close(t);
	return rc;
}

void
compare_close(struct target *t)
{
	struct err ignored; /* the disk was only read, so no data can be lost */

	disk_close(t->disk, &ignored);
	t->disk = NULL;
}

/* read() of sig_hash_range(): read sectors r of the slice.  In a file of any length, a short
 * last sector is followed by zeros, as in images. */
static int
read_sectors(void *arg, struct range r, void *buf, struct err *e)
{
	struct target *t = arg;
	size_t bytes = r.len * SECTOR_BYTES;
	uint64_t at = (t->slice.off + r.off) * SECTOR_BYTES;

	if (!t->any_length)
		return disk_read(t->disk, buf, bytes, at, e);
	ssize_t n = disk_read_upto(t->disk, buf, bytes, at, e);
	if (n < 0)
		return -1;
	memset((uint8_t *)buf + n, 0, bytes - (size_t)n);
	return 0;
}

int
target_differs(
    struct target *t, const struct sig *s, const struct sig_record *r, struct err *e)
{
	struct range sectors = { r->start, r->count };
	uint8_t hash[SIG_HASH_MAX];

	if (!range_within(sectors, t->slice.len))
		return 1;
	if (sig_hash_range(s->hash, sectors, read_sectors, t, hash, e) != 0)
		return -1;
	return memcmp(hash, r->hash, sig_hash_bytes(s->hash)) != 0;
}
