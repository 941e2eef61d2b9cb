/* rescue.c: reads a range that cannot be read at once in pieces. The range is cut in two
 * until the part that fails is a single sector, so most of it is read with few requests.
 * The page cache reads whole pages, so good sectors beside a bad one fail with it; a
 * sector is therefore read past the cache. windows.c calls this in the thread that reads
 * the source. */
#include "imagezip/capture/rescue.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cancel.h"

enum { DIRECT_ALIGN_BYTES = 4096 };

void
rescue_init(struct rescue *r, struct disk *d, uint64_t retries, bool as_zeros,
    struct rangeset *lost)
{
	*r = (struct rescue){ .disk = d,
		.retries = retries,
		.as_zeros = as_zeros,
		.lost = lost,
		.direct_fd = -1 };
}

void
rescue_done(struct rescue *r)
{
	if (r->direct_fd >= 0)
		close(r->direct_fd);
	free(r->sector);
	r->direct_fd = -1;
	r->sector = NULL;
}

/* Do only these sectors fail, or does the whole disk?  A disk that is gone has no bad
 * sectors.  The codes are those of the block layer for medium, protection, target, and
 * time. */
static bool
is_bad_medium(const struct err *e)
{
	return e->kind == ERR_IO &&
	       (e->os == EIO || e->os == ENODATA || e->os == EILSEQ ||
		   e->os == EREMOTEIO || e->os == ETIMEDOUT);
}

static void
open_direct(struct rescue *r)
{
	char path[64];

	if (r->direct_tried)
		return;
	r->direct_tried = true;
	snprintf(path, sizeof path, "/proc/self/fd/%d", disk_fd(r->disk));
	r->sector = aligned_alloc(DIRECT_ALIGN_BYTES, DIRECT_ALIGN_BYTES);
	if (r->sector != NULL && disk_fd(r->disk) >= 0 && disk_seekable(r->disk))
		r->direct_fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
}

/* Read a piece that is not cut any more.  A disk that cannot be read past the cache is read
 * through it. */
static int
read_piece(struct rescue *r, uint64_t sector, uint8_t *buf, size_t bytes, struct err *e)
{
	off_t at = (off_t)(sector * SECTOR_BYTES);

	open_direct(r);
	if (r->direct_fd >= 0) {
		ssize_t n = pread(r->direct_fd, r->sector,
		    DIRECT_ALIGN_BYTES < bytes
			? DIRECT_ALIGN_BYTES
			: (bytes + SECTOR_BYTES - 1) / SECTOR_BYTES * SECTOR_BYTES,
		    at);
		if (n >= 0 && (size_t)n >= bytes) {
			memcpy(buf, r->sector, bytes);
			return 0;
		}
	}
	return disk_read(r->disk, buf, bytes, (uint64_t)at, e);
}

/* Read the smallest piece again, `retries` times.  -1 with as_zeros: the failure is not
 * that of a bad sector. */
static int
retry(struct rescue *r, uint64_t sector, uint8_t *buf, size_t bytes, struct err *e)
{
	for (uint64_t i = 0; i < r->retries; i++) {
		if (cancel_check(e) != 0)
			return -1;
		if (read_piece(r, sector, buf, bytes, e) == 0)
			return 0;
		if (!is_bad_medium(e))
			return -1;
	}
	if (!r->as_zeros)
		return -1;
	memset(buf, 0, bytes);
	return rangeset_add(r->lost,
	    (struct range){ sector, (bytes + SECTOR_BYTES - 1) / SECTOR_BYTES }, e);
}

/* Read both halves of a range that failed. */
static int
halves(struct rescue *r, uint64_t sector, uint8_t *buf, size_t bytes, struct err *e)
{
	size_t unit = disk_sector_bytes(r->disk);

	if (bytes <= unit)
		return retry(r, sector, buf, bytes, e);
	size_t first = (bytes / unit + 1) / 2 * unit;
	for (size_t at = 0; at < bytes; at += first) {
		size_t n = at == 0 ? first : bytes - at;
		uint64_t from = sector + at / SECTOR_BYTES;
		if (cancel_check(e) != 0)
			return -1;
		int rc = n <= unit
		             ? read_piece(r, from, buf + at, n, e)
		             : disk_read(r->disk, buf + at, n, from * SECTOR_BYTES, e);
		if (rc == 0)
			continue;
		if (!is_bad_medium(e) || halves(r, from, buf + at, n, e) != 0)
			return -1;
	}
	return 0;
}

int
rescue_read(struct rescue *r, uint64_t sector, void *buf, size_t bytes, struct err *e)
{
	if (!is_bad_medium(e) || (r->retries == 0 && !r->as_zeros))
		return -1;
	return halves(r, sector, buf, bytes, e);
}
