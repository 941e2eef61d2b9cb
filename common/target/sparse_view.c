/* sparse_view.c: copies the part of a disk that a search for signatures may see into a file in
 * memory. stale_signatures.c calls this when all threads of the installation are gone.
 */
#include "common/target/sparse_view.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	/* 4 MiB. The signatures farthest from an end are those of some RAID controllers,
	 * 1.5 MiB in front of the end, of VMFS, 1 MiB behind the beginning, and of a ZFS
	 * label, 0.5 MiB behind the beginning. */
	NEAR_SECTORS = 4 << 11,
	PIECE_SECTORS = 128,
};

/* Sectors that cannot be read stay zeros. */
static int
copy_piece(int fd, struct disk *d, struct range piece, uint64_t base, uint8_t *buf,
    struct err *e)
{
	size_t n = (size_t)piece.len * SECTOR_BYTES;
	struct err unread;

	if (disk_read(d, buf, n, piece.off * SECTOR_BYTES, &unread) != 0)
		return 0;
	off_t at = (off_t)((piece.off - base) * SECTOR_BYTES);
	return pwrite(fd, buf, n, at) == (ssize_t)n
	           ? 0
	           : err_os(e, "memory for the search for stale signatures");
}

static int
copy(int fd, struct disk *d, struct range r, uint64_t base, struct err *e)
{
	uint8_t *buf = malloc(PIECE_SECTORS * SECTOR_BYTES);
	int rc = buf != NULL
	             ? 0
	             : err_nomem(e, "a buffer for the search for stale signatures");

	for (uint64_t at = r.off; rc == 0 && at < range_end(r); at += PIECE_SECTORS)
		rc = copy_piece(fd, d,
		    range_clip(
			(struct range){ at, PIECE_SECTORS }, r.off, range_end(r)),
		    base, buf, e);
	free(buf);
	return rc;
}

static int
copy_near(int fd, struct disk *d, struct range area, const struct rangeset *seen,
    struct err *e)
{
	uint64_t end = range_end(area);
	uint64_t first_end = area.off + (area.len < NEAR_SECTORS ? area.len
	                                                         : NEAR_SECTORS);
	uint64_t second = end - first_end < NEAR_SECTORS ? first_end
	                                                 : end - NEAR_SECTORS;
	int rc = 0;

	for (size_t i = rangeset_find(seen, area.off);
	     rc == 0 && i < rangeset_count(seen); i++) {
		struct range r = rangeset_get(seen, i);
		rc = copy(fd, d, range_clip(r, area.off, first_end), area.off, e);
		if (rc == 0)
			rc = copy(fd, d, range_clip(r, second, end), area.off, e);
	}
	return rc;
}

int
sparse_view_open(struct disk *d, struct range area, const struct rangeset *seen, struct err *e)
{
	int fd = memfd_create("signatures", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, (off_t)(area.len * SECTOR_BYTES)) != 0)
		err_os(e, "memory for the search for stale signatures");
	else if (copy_near(fd, d, area, seen, e) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}
