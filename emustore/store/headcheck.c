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
		return 0;
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
