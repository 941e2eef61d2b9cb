/* codec_deflate.c: the codec "deflate", by libdeflate or zlib (deflate.h).  codec.c has it
 * in its table; an encoder or decoder is called in the thread that has it. */
#include "common/image/codec/codec_zlib.h"

void
codec_zlib_end(void *fragment, size_t n)
{
	(void)fragment;
	(void)n;
}

void *
codec_zlib_decoder_new(void)
{
	return inflater_new();
}

void
codec_zlib_decoder_free(void *d)
{
	inflater_free(d);
}

int
codec_zlib_decode(
    void *d, const void *in, size_t in_bytes, void *out, size_t n, struct err *e)
{
	return inflater_fragment(d, in, in_bytes, out, n, e);
}

static void *
encoder_new(int level)
{
	return deflater_new(level);
}

static void
encoder_free(void *z)
{
	deflater_free(z);
}

/* One window is one fragment. */
static size_t
window(void *z, size_t fragment_bytes, const void *in, size_t n, void *out, size_t cap)
{
	(void)fragment_bytes;
	return deflater_fragment(z, in, n, out, cap);
}

const struct codec codec_deflate = {
	CODEC_ZLIB_STREAM,
	.name = "deflate",
	.level_min = 0,
	.level_max = 9,
	.level_default = DEFLATE_LEVEL_DEFAULT,
	.encoder_new = encoder_new,
	.encoder_free = encoder_free,
	.bound = deflater_bound,
	.window = window,
	.head = deflate_stream_head,
};
