/* scan.c: the source of change "scan": all of the device is read, and the SHA-256 of each block
 * is compared with the digest that was kept.  It needs no tracker, and is the reference that
 * trackers are tested against.  The extract calls this, in its first thread.
 *
 * Beside the file of bases, PATH, lies a file of digests for each state, PATH.ID:
 *
 *	0 magic "DSHASHES", 8 u32 version 1, 12 u32 bytes of a block, 16 u64 bytes of the
 *	device, 24 id, 40 zeros[24], 64 one SHA-256 for each block; little-endian
 *
 * The digests of a new state are those of the data that is sent, not of the data that was read
 * before to find what is to be sent: the device may be written in between.
 */
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "common/base/rd.h"
#include "common/base/replace.h"
#include "common/base/wr.h"
#include "dsync/change/change.h"
#include "dsync/read/past.h"

enum {
	HEAD_BYTES = 64,
	VERSION = 1,
	BLOCK_MIN = 4096, /* a page, the least that filesystems write */
	BLOCK_MAX = STREAM_DATA_MAX,
	BLOCKS_MAX = 1 << 24, /* a device with more has larger blocks; 512 MiB of digests */
	PIECE_BYTES = 1 << 20, /* bytes read at a time */
	PIECE_BLOCKS = PIECE_BYTES / BLOCK_MIN,
	PIECE_DIGESTS = PIECE_BLOCKS * SHA256_BYTES,
};

static const char magic[8] = { 'D', 'S', 'H', 'A', 'S', 'H', 'E', 'S' };

struct scan {
	const struct change_job *job; /* borrowed */
	uint32_t block_bytes;
	struct past *reader;
	struct past_buf *buf;
	struct disk *digests; /* file of the new state's digests, until keep() */
	char *new_path;       /* path of that file, which is renamed by keep(); owned */
	bool read;            /* the whole device was read for the digests */
	uint8_t zero_digest[SHA256_BYTES];
	uint8_t *part;        /* a block of which only the beginning was sent so far; owned */
	uint64_t part_end;    /* byte of the device behind that beginning */
};

static uint32_t
block_for(uint64_t device_bytes)
{
	uint32_t b = BLOCK_MIN;

	while (b < BLOCK_MAX && device_bytes / b >= BLOCKS_MAX)
		b *= 2;
	return b;
}

static char *
path_of(const struct change_job *job, const char *suffix, struct err *e)
{
	char *path = NULL;

	if (asprintf(&path, "%s.%s", job->state_path, suffix) < 0) {
		err_nomem(e, "a name");
		return NULL;
	}
	return path;
}

static void
put_head(uint8_t head[HEAD_BYTES], const struct scan *s, const struct stream_id *id)
{
	struct wr w = wr_to(head, HEAD_BYTES);

	wr_bytes(&w, magic, sizeof magic);
	wr_le32(&w, VERSION);
	wr_le32(&w, s->block_bytes);
	wr_le64(&w, s->job->device_bytes);
	wr_bytes(&w, id, sizeof *id);
	wr_zero(&w, HEAD_BYTES - wr_len(&w));
}

static void
scan_close(void *self)
{
	struct scan *s = self;
	struct err ignored; /* a file that keep() did not rename is removed */

	disk_close(s->digests, &ignored);
	if (s->new_path != NULL)
		unlink(s->new_path);
	free(s->new_path);
	free(s->part);
	past_buf_free(s->buf);
	past_free(s->reader);
	free(s);
}

static int
prepare(struct scan *s, struct err *e)
{
	s->part = calloc(1, s->block_bytes);
	if (s->part == NULL)
		return err_nomem(e, "scan");
	sha256(s->part, s->block_bytes, s->zero_digest);
	s->new_path = path_of(s->job, "new", e);
	if (s->new_path == NULL || past_new(&s->reader, s->job->disk, e) != 0)
		return -1;
	s->buf = past_buf_new(PIECE_BYTES);
	if (s->buf == NULL)
		return err_nomem(e, "scan");
	return disk_open(&s->digests, s->new_path,
	    DISK_READ | DISK_WRITE | DISK_CREATE | DISK_TRUNC, e);
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

/* Make the digests of the blocks of `data`, whose last block may be short.  Returns their
 * number. */
static size_t
digest_blocks(const struct scan *s, const uint8_t *data, size_t bytes, uint8_t *out)
{
	struct sha256_message v[PIECE_BLOCKS];
	size_t b = s->block_bytes, n = 0;

	for (size_t i = 0; i < bytes; i += b)
		v[n++] = (struct sha256_message){ .data = data + i,
			.bytes = bytes - i < b ? bytes - i : b };
	sha256_many(v, n);
	for (size_t i = 0; i < n; i++)
		memcpy(out + i * SHA256_BYTES, v[i].digest, SHA256_BYTES);
	return n;
}

static uint64_t
place_of(const struct scan *s, uint64_t off)
{
	return HEAD_BYTES + off / s->block_bytes * SHA256_BYTES;
}

/* Write the digests of the whole device, as it is now, into the new file. */
static int
read_device(struct scan *s, struct err *e)
{
	uint8_t digests[PIECE_DIGESTS], *data;
	uint64_t size = s->job->device_bytes;
	int rc = 0;

	for (uint64_t off = 0; rc == 0 && off < size; off += PIECE_BYTES) {
		size_t n = size - off < PIECE_BYTES ? (size_t)(size - off) : PIECE_BYTES;
		rc = cancel_check(e);
		if (rc == 0)
			rc = past_read(s->reader, s->buf, off, n, &data, e);
		if (rc == 0)
			rc = disk_write(s->digests, digests,
			    digest_blocks(s, data, n, digests) * SHA256_BYTES,
			    place_of(s, off), e);
	}
	s->read = rc == 0;
	return rc;
}

/* Check that the head of this file names that base and this device. */
static int
check_file(const struct scan *s, struct disk *d, const struct base *base, struct err *e)
{
	uint8_t head[HEAD_BYTES], want[HEAD_BYTES];

	if (disk_read(d, head, sizeof head, 0, e) != 0)
		return -1;
	put_head(want, s, &base->id);
	if (memcmp(head, want, sizeof head) != 0)
		return err_set(e, ERR_FORMAT,
		    "%s: does not belong to this state of this device, or the device "
		    "has another size now",
		    disk_name(d));
	return 0;
}

/* Report the blocks whose digests are the same in both files. */
static int
compare(struct scan *s, struct disk *base, struct same_sink *sink, struct err *e)
{
	uint8_t a[PIECE_DIGESTS], b[PIECE_DIGESTS];
	uint64_t size = s->job->device_bytes, block = s->block_bytes;
	uint64_t piece = PIECE_BLOCKS * block;
	int rc = 0;

	for (uint64_t off = 0; rc == 0 && off < size; off += piece) {
		uint64_t bytes = size - off < piece ? size - off : piece;
		size_t n = (size_t)((bytes + block - 1) / block);
		rc = disk_read(s->digests, a, n * SHA256_BYTES, place_of(s, off), e);
		if (rc == 0)
			rc = disk_read(base, b, n * SHA256_BYTES, place_of(s, off), e);
		for (size_t i = 0; rc == 0 && i < n; i++)
			if (memcmp(a + i * SHA256_BYTES, b + i * SHA256_BYTES,
				SHA256_BYTES) == 0)
				rc = same_add(sink,
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
	struct disk *d = NULL;
	struct err ignored;

	char *path = path_of(s->job, stream_id_text(&base->id, id), e);
	if (path == NULL)
		return -1;
	int rc = disk_open(&d, path, DISK_READ, e);
	if (rc == 0)
		rc = check_file(s, d, base, e);
	if (rc == 0 && !s->read)
		rc = read_device(s, e);
	if (rc == 0)
		rc = compare(s, d, sink, e);
	disk_close(d, &ignored);
	free(path);
	return rc;
}

static int
sent_zeros(struct scan *s, struct range bytes, struct err *e)
{
	uint8_t digests[PIECE_DIGESTS];
	uint64_t block = s->block_bytes, whole = bytes.len / block;
	size_t most = PIECE_DIGESTS / SHA256_BYTES;
	int rc = 0;

	for (size_t i = 0; i < most; i++)
		memcpy(digests + i * SHA256_BYTES, s->zero_digest, SHA256_BYTES);
	for (uint64_t i = 0; rc == 0 && i < whole; i += most)
		rc = disk_write(s->digests, digests,
		    (whole - i < most ? (size_t)(whole - i) : most) * SHA256_BYTES,
		    place_of(s, bytes.off + i * block), e);
	size_t rest = (size_t)(bytes.len % block);
	if (rc != 0 || rest == 0)
		return rc;
	uint8_t *zeros = calloc(1, rest);
	if (zeros == NULL)
		return err_nomem(e, "scan");
	sha256(zeros, rest, digests);
	free(zeros);
	return disk_write(
	    s->digests, digests, SHA256_BYTES, place_of(s, bytes.off + whole * block), e);
}

/* Whole blocks from `bytes.off` on; the last block of the device may be short. */
static int
sent_blocks(struct scan *s, struct range bytes, const uint8_t *data, struct err *e)
{
	uint8_t digests[PIECE_DIGESTS];

	if (data == NULL)
		return sent_zeros(s, bytes, e);
	size_t n = digest_blocks(s, data, (size_t)bytes.len, digests);
	return disk_write(s->digests, digests, n * SHA256_BYTES, place_of(s, bytes.off), e);
}

/* A part of one block.  Parts come in order, so the digest of the block is made of its last one. */
static int
sent_part(struct scan *s, struct range bytes, const uint8_t *data, struct err *e)
{
	size_t before = (size_t)(bytes.off % s->block_bytes), n = (size_t)bytes.len;
	uint8_t digest[SHA256_BYTES];

	assert(before == 0 || bytes.off == s->part_end);
	if (data != NULL)
		memcpy(s->part + before, data, n);
	else
		memset(s->part + before, 0, n);
	s->part_end = range_end(bytes);
	if (s->part_end % s->block_bytes != 0 && s->part_end != s->job->device_bytes)
		return 0;
	sha256(s->part, before + n, digest);
	return disk_write(s->digests, digest, sizeof digest, place_of(s, bytes.off), e);
}

/* A piece may begin and end within a block, where data meets a hole or what nobody uses. */
static int
scan_sent(void *self, struct range bytes, const void *data, struct err *e)
{
	struct scan *s = self;
	uint64_t block = s->block_bytes, first = (block - bytes.off % block) % block;
	uint64_t head = first < bytes.len ? first : bytes.len, rest = bytes.len - head;
	uint64_t tail = range_end(bytes) < s->job->device_bytes ? rest % block : 0;
	const uint8_t *from = data, *after = from != NULL ? from + head : NULL;
	int rc = 0;

	rest -= tail;
	if (head > 0)
		rc = sent_part(s, (struct range){ bytes.off, head }, from, e);
	if (rc == 0 && rest > 0)
		rc = sent_blocks(s, (struct range){ bytes.off + head, rest }, after, e);
	if (rc == 0 && tail > 0)
		rc = sent_part(s, (struct range){ range_end(bytes) - tail, tail },
		    after != NULL ? after + rest : NULL, e);
	return rc;
}

static int
scan_keep(void *self, const struct stream_id *id, char token[BASE_TOKEN_BYTES],
    struct err *e)
{
	struct scan *s = self;
	uint8_t head[HEAD_BYTES];
	char text[STREAM_ID_TEXT];

	char *path = path_of(s->job, stream_id_text(id, text), e);
	if (path == NULL)
		return -1;
	put_head(head, s, id);
	int rc = disk_write(s->digests, head, sizeof head, 0, e);
	if (rc == 0)
		rc = disk_sync(s->digests, e);
	if (rc == 0)
		rc = replace_name(s->new_path, path, 0, e);
	if (rc == 0) {
		free(s->new_path);
		s->new_path = NULL;
	}
	free(path);
	strcpy(token, "-");
	return rc;
}

static void
scan_dropped(const struct change_job *job, const struct base *base)
{
	char id[STREAM_ID_TEXT];
	struct err ignored; /* a file that stays does no harm */
	char *path = path_of(job, stream_id_text(&base->id, id), &ignored);

	if (path != NULL)
		unlink(path);
	free(path);
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
