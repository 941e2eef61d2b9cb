/* headcheck.c: compares the heads of fragments with their data, for copy.c, in its thread; and
 * tells for put_known.c by which codec a fragment was made, in the threads of compressors. */
#include "emustore/store/headcheck.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/rd.h"
#include "common/base/sha256.h"
#include "common/image/read/fragments.h"

enum {
	FRAME_MAGIC = 0xfd2fb528u, /* magic number of zstd; no deflate stream begins with it */
	/* The two bytes that a zlib stream begins with (RFC 1950): the method is in the lower half
	 * of the first one, and both together are a multiple of 31. */
	ZLIB_METHOD = 8,
	ZLIB_MULTIPLE = 31,
};

struct headcheck {
	struct decoder *decoder;
	uint8_t raw[FRAGMENT_BYTES_MAX];
};

struct headcheck *
headcheck_new(void)
{
	struct headcheck *h = calloc(1, sizeof *h);

	if (h == NULL)
		return NULL;
	h->decoder = decoder_new();
	if (h->decoder != NULL)
		return h;
	free(h);
	return NULL;
}

void
headcheck_free(struct headcheck *h)
{
	if (h == NULL)
		return;
	decoder_free(h->decoder);
	free(h);
}

const struct codec *
headcheck_codec(const void *data, size_t n)
{
	struct rd r = rd_from(data, n);
	bool zstd = rd_le32(&r) == FRAME_MAGIC && rd_ok(&r);

	return zstd ? &codec_zstd : &codec_deflate;
}

/* May these n bytes be the whole stream of a chunk, as put makes a fragment of it?  It is a zlib
 * stream, or all that is behind the header of an encrypted chunk, which is longer than any other
 * fragment.  A fragment of deflate does not begin as a zlib stream: a compressor leaves zero the bits
 * that a stored block does not use, and the other kinds of blocks have another first byte. */
static bool
is_whole_stream(const void *data, size_t n)
{
	struct rd r = rd_from(data, n);
	uint16_t head = rd_be16(&r);

	return n == NDZ_STREAM_MAX ||
	       (rd_ok(&r) && (head >> 8 & 0x0f) == ZLIB_METHOD && head % ZLIB_MULTIPLE == 0);
}

static bool
is_true(const struct fragment_head *f, const uint8_t *raw)
{
	uint8_t digest[SHA256_BYTES];

	sha256(raw, f->raw_bytes, digest);
	return memcmp(digest, f->raw_digest, sizeof f->raw_digest) == 0 &&
	       adler_of(raw, f->raw_bytes) == f->adler;
}

int
headcheck_fragment(struct headcheck *h, const struct fragment_head *f, const void *data,
    size_t n, struct err *e)
{
	const struct codec *codec = headcheck_codec(data, n);

	if (f->raw_bytes == 0)
		return is_whole_stream(data, n)
		           ? 0
		           : err_set(e, ERR_FORMAT,
				 "a fragment does not say how much data it has");
	if (f->raw_bytes > sizeof h->raw)
		return err_set(e, ERR_FORMAT, "a fragment says that it has %u bytes of data",
		    f->raw_bytes);
	if (codec->lacks != NULL)
		return err_set(e, ERR_UNSUPPORTED,
		    "a fragment cannot be checked: this program was built without %s",
		    codec->lacks);
	if (decoder_fragment(h->decoder, codec, data, n, h->raw, f->raw_bytes, e) != 0)
		return -1;
	return is_true(f, h->raw)
	           ? 0
	           : err_set(e, ERR_FORMAT, "a fragment does not have the data that it says");
}
