/* hashes.c: files with the digests of the blocks of a state.  The source of change "scan" and the
 * extract (fine.c) call this, in one thread. */
#include "dsync/change/hashes.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/rd.h"
#include "common/base/replace.h"
#include "common/base/wr.h"

enum { VERSION = 1, ID_AT = 24 /* in the head */ };

static const char magic[8] = { 'D', 'S', 'H', 'A', 'S', 'H', 'E', 'S' };
static const struct stream_id none;

static char *
path_of(const char *state_path, const char *suffix, struct err *e)
{
	char *path = NULL;

	if (asprintf(&path, "%s.%s", state_path, suffix) >= 0)
		return path;
	err_nomem(e, "a name");
	return NULL;
}

static uint64_t
place_of(const struct hashes *h, uint64_t off)
{
	return HASHES_HEAD_BYTES + off / h->block_bytes * SHA256_BYTES;
}

/* Set up all but the file. */
static int
begin(struct hashes *h, uint32_t block_bytes, uint64_t device_bytes, struct err *e)
{
	*h = (struct hashes){ .block_bytes = block_bytes, .device_bytes = device_bytes };
	h->part = calloc(1, block_bytes);
	if (h->part == NULL)
		return err_nomem(e, "digests");
	sha256(h->part, block_bytes, h->zeros);
	return 0;
}

int
hashes_make(struct hashes *h, const char *state_path, uint32_t block_bytes,
    uint64_t device_bytes, struct err *e)
{
	if (begin(h, block_bytes, device_bytes, e) == 0 &&
	    (h->path = path_of(state_path, "new", e)) != NULL &&
	    disk_open(&h->file, h->path, DISK_READ | DISK_WRITE | DISK_CREATE | DISK_TRUNC,
		e) == 0 &&
	    disk_truncate(h->file, place_of(h, device_bytes + block_bytes - 1), e) == 0)
		return 0;
	hashes_close(h);
	return -1;
}

static void
put_head(uint8_t head[HASHES_HEAD_BYTES], const struct hashes *h)
{
	struct wr w = wr_to(head, HASHES_HEAD_BYTES);

	wr_bytes(&w, magic, sizeof magic);
	wr_le32(&w, VERSION);
	wr_le32(&w, h->block_bytes);
	wr_le64(&w, h->device_bytes);
	wr_bytes(&w, &h->id, sizeof h->id);
	wr_bytes(&w, &h->other, sizeof h->other);
	wr_zero(&w, HASHES_HEAD_BYTES - wr_len(&w));
}

static int
read_head(struct hashes *h, struct err *e)
{
	uint8_t head[HASHES_HEAD_BYTES], want[HASHES_HEAD_BYTES];

	if (disk_read(h->file, head, sizeof head, 0, e) != 0)
		return -1;
	struct rd r = rd_from(head, sizeof head);
	rd_skip(&r, ID_AT);
	rd_copy(&r, &h->id, sizeof h->id);
	rd_copy(&r, &h->other, sizeof h->other);
	put_head(want, h);
	if (memcmp(head, want, sizeof head) == 0)
		return 0;
	return err_set(e, ERR_FORMAT,
	    "%s: does not belong to this device, or the device has another size now",
	    disk_name(h->file));
}

int
hashes_open(struct hashes *h, const char *state_path, const char *suffix, bool write,
    uint32_t block_bytes, uint64_t device_bytes, struct err *e)
{
	char *path = path_of(state_path, suffix, e);
	int rc = begin(h, block_bytes, device_bytes, e);

	if (path == NULL)
		rc = -1;
	if (rc == 0)
		rc = disk_open(&h->file, path, DISK_READ | (write ? DISK_WRITE : 0u), e);
	if (rc == 0)
		rc = read_head(h, e);
	free(path);
	if (rc != 0)
		hashes_close(h);
	return rc;
}

void
hashes_close(struct hashes *h)
{
	struct err ignored; /* what matters was flushed */

	disk_close(h->file, &ignored);
	if (h->path != NULL)
		unlink(h->path);
	free(h->path);
	free(h->part);
	memset(h, 0, sizeof *h);
}

size_t
hashes_of(const struct hashes *h, const uint8_t *data, size_t bytes,
    uint8_t digests[HASHES_PIECE_BLOCKS * SHA256_BYTES])
{
	struct sha256_message v[HASHES_PIECE_BLOCKS];
	size_t b = h->block_bytes, n = 0;

	for (size_t i = 0; i < bytes; i += b)
		v[n++] = (struct sha256_message){ .data = data + i,
			.bytes = bytes - i < b ? bytes - i : b };
	sha256_many(v, n);
	for (size_t i = 0; i < n; i++)
		memcpy(digests + i * SHA256_BYTES, v[i].digest, SHA256_BYTES);
	return n;
}

int
hashes_get(struct hashes *h, uint64_t off, size_t n, uint8_t *digests, struct err *e)
{
	return disk_read(h->file, digests, n * SHA256_BYTES, place_of(h, off), e);
}

int
hashes_put(struct hashes *h, uint64_t off, size_t n, const uint8_t *digests, struct err *e)
{
	return disk_write(h->file, digests, n * SHA256_BYTES, place_of(h, off), e);
}

static int
sent_zeros(struct hashes *h, struct range bytes, struct err *e)
{
	uint8_t digests[HASHES_PIECE_BLOCKS * SHA256_BYTES];
	uint64_t block = h->block_bytes, whole = bytes.len / block;
	int rc = 0;

	for (size_t i = 0; i < HASHES_PIECE_BLOCKS; i++)
		memcpy(digests + i * SHA256_BYTES, h->zeros, SHA256_BYTES);
	for (uint64_t i = 0; rc == 0 && i < whole; i += HASHES_PIECE_BLOCKS)
		rc = hashes_put(h, bytes.off + i * block,
		    whole - i < HASHES_PIECE_BLOCKS ? (size_t)(whole - i)
						    : HASHES_PIECE_BLOCKS,
		    digests, e);
	size_t rest = (size_t)(bytes.len % block);
	if (rc != 0 || rest == 0)
		return rc;
	memset(h->part, 0, rest);
	sha256(h->part, rest, digests);
	return hashes_put(h, bytes.off + whole * block, 1, digests, e);
}

/* Whole blocks from `bytes.off` on; the last block of the device may be short. */
static int
sent_blocks(struct hashes *h, struct range bytes, const uint8_t *data, struct err *e)
{
	uint8_t digests[HASHES_PIECE_BLOCKS * SHA256_BYTES];

	if (data == NULL)
		return sent_zeros(h, bytes, e);
	return hashes_put(
	    h, bytes.off, hashes_of(h, data, (size_t)bytes.len, digests), digests, e);
}

/* A part of one block.  Parts come in order, so the digest of the block is made of its last one. */
static int
sent_part(struct hashes *h, struct range bytes, const uint8_t *data, struct err *e)
{
	size_t before = (size_t)(bytes.off % h->block_bytes), n = (size_t)bytes.len;
	uint8_t digest[SHA256_BYTES];

	assert(before == 0 || bytes.off == h->part_end);
	if (data != NULL)
		memcpy(h->part + before, data, n);
	else
		memset(h->part + before, 0, n);
	h->part_end = range_end(bytes);
	if (h->part_end % h->block_bytes != 0 && h->part_end != h->device_bytes)
		return 0;
	sha256(h->part, before + n, digest);
	return hashes_put(h, bytes.off, 1, digest, e);
}

/* A piece may begin and end within a block, where data meets a hole or what nobody uses. */
int
hashes_sent(struct hashes *h, struct range bytes, const void *data, struct err *e)
{
	uint64_t block = h->block_bytes, first = (block - bytes.off % block) % block;
	uint64_t head = first < bytes.len ? first : bytes.len, rest = bytes.len - head;
	uint64_t tail = range_end(bytes) < h->device_bytes ? rest % block : 0;
	const uint8_t *from = data, *after = from != NULL ? from + head : NULL;
	int rc = 0;

	rest -= tail;
	if (head > 0)
		rc = sent_part(h, (struct range){ bytes.off, head }, from, e);
	if (rc == 0 && rest > 0)
		rc = sent_blocks(h, (struct range){ bytes.off + head, rest }, after, e);
	if (rc == 0 && tail > 0)
		rc = sent_part(h, (struct range){ range_end(bytes) - tail, tail },
		    after != NULL ? after + rest : NULL, e);
	return rc;
}

static int
write_head(struct hashes *h, const struct stream_id *id, const struct stream_id *other,
    struct err *e)
{
	uint8_t head[HASHES_HEAD_BYTES];

	h->id = *id;
	h->other = other != NULL ? *other : none;
	put_head(head, h);
	if (disk_write(h->file, head, sizeof head, 0, e) != 0)
		return -1;
	return disk_sync(h->file, e);
}

/* The head stands for the digests, so they are flushed before it is written. */
int
hashes_say(struct hashes *h, const struct stream_id *id, const struct stream_id *other,
    struct err *e)
{
	return disk_sync(h->file, e) == 0 ? write_head(h, id, other, e) : -1;
}

int
hashes_keep(struct hashes *h, const char *state_path, const struct stream_id *id,
    const struct stream_id *other, struct err *e)
{
	char text[STREAM_ID_TEXT];

	char *path = path_of(state_path, stream_id_text(id, text), e);
	if (path == NULL)
		return -1;
	int rc = write_head(h, id, other, e);
	if (rc == 0)
		rc = replace_name(h->path, path, 0, e);
	if (rc == 0) {
		free(h->path);
		h->path = NULL;
	}
	free(path);
	return rc;
}

void
hashes_drop(const char *state_path, const struct stream_id *id)
{
	char text[STREAM_ID_TEXT];
	struct err ignored;
	char *path = path_of(state_path, stream_id_text(id, text), &ignored);

	if (path != NULL)
		unlink(path);
	free(path);
}
