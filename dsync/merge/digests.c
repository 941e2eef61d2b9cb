/* digests.c: makes the digests of a target, which dsync compares with those of the source.
 * dmmerge calls this, in its first thread. */
#include <stdlib.h>

#include "common/base/cancel.h"
#include "dsync/merge/merge.h"
#include "dsync/read/uncached.h"

static int
digest_all(struct disk *d, uint64_t piece_bytes,
    int (*take)(void *arg, const uint8_t digest[SHA256_BYTES], struct err *), void *arg,
    struct err *e)
{
	struct uncached_buf *buf = uncached_buf_new((size_t)piece_bytes);
	uint64_t size = disk_size_bytes(d);
	uint8_t digest[SHA256_BYTES], *data;
	struct uncached *uncached = NULL;
	int rc = buf != NULL ? uncached_new(&uncached, d, e) : err_nomem(e, "digests");

	for (uint64_t at = 0; rc == 0 && at < size; at += piece_bytes) {
		size_t n = size - at < piece_bytes ? (size_t)(size - at) : (size_t)piece_bytes;
		rc = cancel_check(e);
		if (rc == 0)
			rc = uncached_read(uncached, buf, at, n, &data, e);
		if (rc == 0) {
			sha256(data, n, digest);
			rc = take(arg, digest, e);
		}
	}
	uncached_free(uncached);
	uncached_buf_free(buf);
	return rc;
}

int
merge_digests(const struct merge_config *cfg, uint64_t piece_bytes,
    int (*take)(void *arg, const uint8_t digest[SHA256_BYTES], struct err *), void *arg,
    struct err *e)
{
	struct err ignored; /* the disk was only read */
	struct disk *d;

	if (disk_open(&d, cfg->target, DISK_READ, e) != 0)
		return -1;
	int rc = disk_seekable(d)
	             ? digest_all(d, piece_bytes, take, arg, e)
	             : err_set(e, ERR_UNSUPPORTED, "%s: is neither a device nor a file",
			   cfg->target);
	disk_close(d, &ignored);
	return rc;
}
