/* scan.c: the source of change "scan": all of the device is read, and the SHA-256 of each block
 * is compared with the digest that was kept.  It needs no tracker, and is the reference that
 * trackers are tested against.  The extract calls this, in its first thread.
 *
 * Beside the file of bases, PATH, lies a file of digests for each state, PATH.ID (hashes.h).
 *
 * The digests of a new state are those of the data that is sent, not of the data that was read
 * before to find what is to be sent: the device may be written in between.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "dsync/change/change.h"
#include "dsync/change/hashes.h"
#include "dsync/read/uncached.h"

enum {
	BLOCK_MAX = STREAM_DATA_MAX,
	BLOCKS_MAX = 1 << 24, /* a device with more has larger blocks; 512 MiB of digests */
	PIECE_DIGESTS = HASHES_PIECE_BLOCKS * SHA256_BYTES,
};

struct scan {
	const struct change_job *job; /* borrowed */
	uint32_t block_bytes;
	struct uncached *reader;
	struct uncached_buf *buf;
	struct hashes digests; /* of the new state */
	bool read; /* the whole device was read for the digests */
};

static uint32_t
block_for(uint64_t device_bytes)
{
	uint32_t b = HASHES_BLOCK_MIN;

	while (b < BLOCK_MAX && device_bytes / b >= BLOCKS_MAX)
		b *= 2;
	return b;
}

static void
scan_close(void *self)
{
	struct scan *s = self;

	hashes_close(&s->digests);
	uncached_buf_free(s->buf);
	uncached_free(s->reader);
	free(s);
}

static int
prepare(struct scan *s, struct err *e)
{
	if (uncached_new(&s->reader, s->job->disk, e) != 0)
		return -1;
	s->buf = uncached_buf_new(HASHES_PIECE_BYTES);
	if (s->buf == NULL)
		return err_nomem(e, "scan");
	return hashes_make(
	    &s->digests, s->job->state_path, s->block_bytes, s->job->device_bytes, e);
}

static int
scan_open(void **self, const struct change_job *job, struct change_about *about,
    struct err *e)
{
	struct scan *s = calloc(1, sizeof *s);

	if (s == NULL)
		return err_nomem(e, "scan");
	s->job = job;
	s->block_bytes = about->block_bytes = block_for(job->device_bytes);
	/* The digests of all pending states are compared, so a block that was sent in one of
	 * them and then written back counts as changed. */
	about->cumulative = about->compares = true;
	if (prepare(s, e) == 0) {
		*self = s;
		return 0;
	}
	scan_close(s);
	return -1;
}

/* Write the digests of the whole device, as it is now, into the new file. */
static int
read_device(struct scan *s, struct err *e)
{
	uint8_t digests[PIECE_DIGESTS], *data;
	uint64_t size = s->job->device_bytes, piece = HASHES_PIECE_BYTES;
	int rc = 0;

	for (uint64_t off = 0; rc == 0 && off < size; off += piece) {
		size_t n = (size_t)(size - off < piece ? size - off : piece);
		rc = cancel_check(e);
		if (rc == 0)
			rc = uncached_read(s->reader, s->buf, off, n, &data, e);
		if (rc == 0)
			rc = hashes_put(&s->digests, off,
			    hashes_of(&s->digests, data, n, digests), digests, e);
	}
	s->read = rc == 0;
	return rc;
}

/* Report the blocks whose digests are the same in both files. */
static int
compare(struct scan *s, struct hashes *base, struct same_sink *sink, struct err *e)
{
	uint8_t a[PIECE_DIGESTS], b[PIECE_DIGESTS];
	uint64_t size = s->job->device_bytes, block = s->block_bytes;
	uint64_t piece = HASHES_PIECE_BLOCKS * block;
	int rc = 0;

	for (uint64_t off = 0; rc == 0 && off < size; off += piece) {
		uint64_t bytes = size - off < piece ? size - off : piece;
		size_t n = (size_t)((bytes + block - 1) / block);
		rc = hashes_get(&s->digests, off, n, a, e);
		if (rc == 0)
			rc = hashes_get(base, off, n, b, e);
		for (size_t i = 0; rc == 0 && i < n; i++)
			if (memcmp(a + i * SHA256_BYTES, b + i * SHA256_BYTES,
				SHA256_BYTES) == 0)
				rc = same_sink_add(sink,
				    range_clip((struct range){ off + i * block, block }, 0,
					size),
				    e);
	}
	return rc;
}

static int
scan_same(void *self, const struct base *base, struct same_sink *sink, struct err *e)
{
	struct scan *s = self;
	char id[STREAM_ID_TEXT];
	struct hashes old;

	if (hashes_open(&old, s->job->state_path, stream_id_text(&base->id, id), false,
		s->block_bytes, s->job->device_bytes, e) != 0)
		return -1;
	int rc = 0;
	if (!stream_id_same(&old.id, &base->id))
		rc = err_set(e, ERR_FORMAT, "%s: does not belong to this state",
		    disk_name(old.file));
	if (rc == 0 && !s->read)
		rc = read_device(s, e);
	if (rc == 0)
		rc = compare(s, &old, sink, e);
	hashes_close(&old);
	return rc;
}

static int
scan_sent(void *self, struct range bytes, const void *data, struct err *e)
{
	struct scan *s = self;

	return hashes_sent(&s->digests, bytes, data, e);
}

static int
scan_keep(void *self, const struct stream_id *id, char token[BASE_TOKEN_BYTES],
    struct err *e)
{
	struct scan *s = self;

	strcpy(token, "-");
	return hashes_keep(&s->digests, s->job->state_path, id, NULL, e);
}

static void
scan_dropped(const struct change_job *job, const struct base *base)
{
	hashes_drop(job->state_path, &base->id);
}

const struct change_kind change_scan = {
	.name = "scan",
	.args = "STATE",
	.about = "a comparison of all blocks with digests, which are kept beside the "
		 "file STATE",
	.has_bases = true,
	.path_is_args = true,
	.open = scan_open,
	.same = scan_same,
	.sent = scan_sent,
	.keep = scan_keep,
	.dropped = scan_dropped,
	.close = scan_close,
};
