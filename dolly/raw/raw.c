/* raw.c: packs and unpacks chunks of raw data (raw.h).  payload.c packs them in the thread of the
 * server's reader, load/dolly_load.c unpacks them in the feeder's thread. */
#include "dolly/raw/raw.h"

#include <stdlib.h>
#include <string.h>
#ifndef NO_ZSTD
#include <zstd.h>
#endif

#include "common/base/rd.h"
#include "common/base/sha256.h"
#include "common/base/wr.h"

enum { PLAIN, ZSTD, LEVEL = 1 };

struct raw {
	bool compress;
#ifndef NO_ZSTD
	ZSTD_CCtx *packer;
	ZSTD_DCtx *unpacker;
#endif
};

#ifndef NO_ZSTD
static bool
open_zstd(struct raw *r)
{
	r->packer = ZSTD_createCCtx();
	r->unpacker = ZSTD_createDCtx();
	return r->packer != NULL && r->unpacker != NULL;
}

static void
close_zstd(struct raw *r)
{
	ZSTD_freeCCtx(r->packer);
	ZSTD_freeDCtx(r->unpacker);
}

/* The compressed length; 0: the bytes do not become fewer. */
static uint32_t
compress(struct raw *r, const void *bytes, uint32_t n, uint8_t *to)
{
	size_t got = ZSTD_compressCCtx(r->packer, to, n - 1, bytes, n, LEVEL);

	return ZSTD_isError(got) ? 0 : (uint32_t)got;
}

static bool
decompress(struct raw *r, const void *in, size_t in_bytes, void *to, uint32_t n)
{
	return ZSTD_decompressDCtx(r->unpacker, to, n, in, in_bytes) == n;
}
#else
static bool
open_zstd(struct raw *r)
{
	(void)r;
	return true;
}

static void
close_zstd(struct raw *r)
{
	(void)r;
}

static uint32_t
compress(struct raw *r, const void *bytes, uint32_t n, uint8_t *to)
{
	(void)r;
	(void)bytes;
	(void)n;
	(void)to;
	return 0;
}

static bool
decompress(struct raw *r, const void *in, size_t in_bytes, void *to, uint32_t n)
{
	(void)r;
	(void)in;
	(void)in_bytes;
	(void)to;
	(void)n;
	return false;
}
#endif

int
raw_new(struct raw **out, bool compressing, struct err *e)
{
	struct raw *r = calloc(1, sizeof *r);

	if (r == NULL)
		return err_nomem(e, "chunks of raw data");
	r->compress = compressing;
#ifdef NO_ZSTD
	if (compressing) {
		free(r);
		return err_set(
		    e, ERR_UNSUPPORTED, "this program was built without zstd");
	}
#endif
	if (!open_zstd(r)) {
		raw_free(r);
		return err_nomem(e, "zstd");
	}
	*out = r;
	return 0;
}

void
raw_free(struct raw *r)
{
	if (r == NULL)
		return;
	close_zstd(r);
	free(r);
}

uint32_t
raw_length(uint64_t bytes, uint32_t chunk)
{
	uint64_t left = bytes - (uint64_t)chunk * RAW_CHUNK_BYTES;

	return left < RAW_CHUNK_BYTES ? (uint32_t)left : RAW_CHUNK_BYTES;
}

uint32_t
raw_pack(struct raw *r, uint32_t chunk, const void *bytes, uint32_t n, uint8_t *to)
{
	struct wr w = wr_to(to + SHA256_BYTES, RAW_HEAD_BYTES - SHA256_BYTES);
	uint32_t packed = r->compress && n > 1
	                      ? compress(r, bytes, n, to + RAW_HEAD_BYTES)
	                      : 0;

	wr_u8(&w, packed > 0 ? ZSTD : PLAIN);
	wr_le32(&w, chunk);
	if (packed == 0)
		memcpy(to + RAW_HEAD_BYTES, bytes, n);
	uint32_t sent = RAW_HEAD_BYTES + (packed > 0 ? packed : n);
	sha256(to + SHA256_BYTES, sent - SHA256_BYTES, to);
	return sent;
}

static const void *
open_body(struct raw *r, uint8_t packing, struct rd body, void *room, uint32_t n)
{
	size_t in = rd_left(&body);
	const void *bytes = rd_bytes(&body, in);

	if (packing == ZSTD && bytes != NULL)
		return decompress(r, bytes, in, room, n) ? room : NULL;
	return packing == PLAIN && in == n ? bytes : NULL;
}

const uint8_t *
raw_digest(const void *sent)
{
	return sent;
}

bool
raw_is_right(uint32_t chunk, const uint8_t *sent, uint32_t sent_bytes)
{
	struct rd x = rd_from(sent, sent_bytes);
	const uint8_t *digest = rd_bytes(&x, SHA256_BYTES);
	uint8_t is[SHA256_BYTES];

	if (digest == NULL)
		return false;
	sha256(sent + SHA256_BYTES, sent_bytes - SHA256_BYTES, is);
	(void)rd_u8(&x);
	return rd_le32(&x) == chunk && rd_ok(&x) && memcmp(digest, is, sizeof is) == 0;
}

const void *
raw_unpack(struct raw *r, uint32_t chunk, const uint8_t *sent, uint32_t sent_bytes,
    void *room, uint32_t n, struct err *e)
{
	struct rd x = rd_from(sent, sent_bytes);
	const uint8_t *digest = rd_bytes(&x, SHA256_BYTES);
	const void *bytes = NULL;
	uint8_t is[SHA256_BYTES];

	if (digest != NULL)
		sha256(sent + SHA256_BYTES, sent_bytes - SHA256_BYTES, is);
	if (digest == NULL || memcmp(digest, is, sizeof is) != 0) {
		(void)err_set(e, ERR_FORMAT, "its digest is wrong");
		return NULL;
	}
	uint8_t packing = rd_u8(&x);
	uint32_t number = rd_le32(&x);
	if (rd_ok(&x) && number == chunk)
		bytes = open_body(r, packing, x, room, n);
	if (bytes == NULL)
		(void)err_set(e, ERR_FORMAT,
		    "its digest is right, but it is another chunk, or cannot be unpacked");
	return bytes;
}
