/* codec_zstd.c: fragments of several windows, each one zstd frame (RFC 8878).
 *
 * A frame is made without content size and checksum, and is flushed after every window, so
 * that it can end after any of them: end() sets the bit of the last block when it is known
 * which block that is.  The stream consists of the frames side by side and, behind them, a
 * skippable frame with the Adler-32.  Every zstd decoder reads such a stream.
 *
 * codec.c has this codec in its table; an encoder or decoder is called in the thread that
 * has it.
 */
#include <string.h>

#include "common/base/rd.h"
#include "common/base/wr.h"
#include "common/image/codec/codec.h"

enum {
	FRAME_MAGIC = 0xfd2fb528u,
	SKIPPABLE_MAGIC = 0x184d2a5eu,
	FRAME_HEAD_BYTES = 6, /* magic, descriptor 0, window */
	BLOCK_HEAD_BYTES = 3,
	BLOCK_LAST = 1,
	BLOCK_RLE = 1,
	TAIL_BYTES = 12,
	/* A window of 128 KiB, which is also the largest block. */
	ZEROS_WINDOW = (17 - 10) << 3,
	ZEROS_BLOCK_BYTES = 128 * 1024,
	ZEROS_BLOCK_CODED = BLOCK_HEAD_BYTES + 1,
	FRAGMENT_WINDOWS = 16,
	LEVEL_MAX = 19,
	LEVEL_DEFAULT = 3,
};

/* The stream has nothing in front of its frames. */
static void
head(int level, uint8_t *out)
{
	(void)level;
	(void)out;
}

static void
tail(uint32_t adler, uint8_t *out)
{
	struct wr w = wr_to(out, TAIL_BYTES);

	wr_le32(&w, SKIPPABLE_MAGIC);
	wr_le32(&w, 4);
	wr_le32(&w, adler);
}

static uint64_t
zeros_blocks(uint64_t n)
{
	return n / ZEROS_BLOCK_BYTES + (n % ZEROS_BLOCK_BYTES != 0);
}

static size_t
zeros_bytes(uint64_t n)
{
	return (size_t)(FRAME_HEAD_BYTES + zeros_blocks(n) * ZEROS_BLOCK_CODED);
}

static void
put_frame_head(struct wr *w)
{
	wr_le32(w, FRAME_MAGIC);
	wr_u8(w, 0);
	wr_u8(w, ZEROS_WINDOW);
}

/* Put the next block of a run of zeros, of which n zeros are left. */
static void
put_zeros_block(struct wr *w, uint64_t n)
{
	bool last = n <= ZEROS_BLOCK_BYTES;
	uint32_t size = last ? (uint32_t)n : ZEROS_BLOCK_BYTES;
	uint32_t block = size << 3 | BLOCK_RLE << 1 | (last ? BLOCK_LAST : 0);

	wr_le16(w, (uint16_t)block);
	wr_u8(w, (uint8_t)(block >> 16));
	wr_u8(w, 0);
}

static void
zeros(uint64_t n, void *out)
{
	struct wr w = wr_to(out, zeros_bytes(n));

	put_frame_head(&w);
	for (; n > ZEROS_BLOCK_BYTES; n -= ZEROS_BLOCK_BYTES)
		put_zeros_block(&w, n);
	put_zeros_block(&w, n);
}

static bool
is_zeros(const void *in, size_t in_bytes, uint64_t n)
{
	uint8_t want[FRAME_HEAD_BYTES + ZEROS_BLOCK_CODED];
	const uint8_t *p = in;
	struct wr w = wr_to(want, FRAME_HEAD_BYTES);

	if (n == 0 || zeros_blocks(n) > SIZE_MAX / 8 || in_bytes != zeros_bytes(n))
		return false;
	put_frame_head(&w);
	if (memcmp(p, want, FRAME_HEAD_BYTES) != 0)
		return false;
	for (p += FRAME_HEAD_BYTES; n > 0; p += ZEROS_BLOCK_CODED) {
		w = wr_to(want, ZEROS_BLOCK_CODED);
		put_zeros_block(&w, n);
		if (memcmp(p, want, ZEROS_BLOCK_CODED) != 0)
			return false;
		n -= n < ZEROS_BLOCK_BYTES ? n : ZEROS_BLOCK_BYTES;
	}
	return true;
}

#define ZSTD_STREAM \
	.name = "zstd", .id = CODEC_ZSTD, .level_min = 1, .level_max = LEVEL_MAX, \
	.level_default = LEVEL_DEFAULT, .windows = FRAGMENT_WINDOWS, \
	.ratio_max = ZEROS_BLOCK_BYTES / ZEROS_BLOCK_CODED, .tail_bytes = TAIL_BYTES, \
	.head = head, .tail = tail, .zeros_bytes = zeros_bytes, .zeros = zeros, \
	.is_zeros = is_zeros

#ifndef NO_ZSTD
#include <assert.h>
#include <zstd.h>

/* The default level looks for matches as the library's level 5 does, with tables that leave the
 * cache of a core to the data.  An image has 3 % fewer bytes than with the library's level 3,
 * which takes a quarter less time. */
enum { DEFAULT_HASH_LOG = 17, DEFAULT_SEARCH_LOG = 4, DEFAULT_MIN_MATCH = 4 };

static void
set(ZSTD_CCtx *z, ZSTD_cParameter p, int value)
{
	size_t rc = ZSTD_CCtx_setParameter(z, p, value);

	assert(!ZSTD_isError(rc));
	(void)rc;
}

static void *
encoder_new(int level)
{
	ZSTD_CCtx *z = ZSTD_createCCtx();

	if (z == NULL)
		return NULL;
	set(z, ZSTD_c_compressionLevel, level);
	set(z, ZSTD_c_contentSizeFlag, 0);
	if (level == LEVEL_DEFAULT) {
		set(z, ZSTD_c_hashLog, DEFAULT_HASH_LOG);
		set(z, ZSTD_c_searchLog, DEFAULT_SEARCH_LOG);
		set(z, ZSTD_c_minMatch, DEFAULT_MIN_MATCH);
		set(z, ZSTD_c_strategy, ZSTD_greedy);
	}
	return z;
}

static void
encoder_free(void *z)
{
	ZSTD_freeCCtx(z);
}

static size_t
bound(size_t raw_bytes)
{
	return ZSTD_compressBound(raw_bytes) + FRAME_HEAD_BYTES;
}

static size_t
window(void *z, size_t fragment_bytes, const void *in, size_t n, void *out, size_t cap)
{
	ZSTD_inBuffer i = { in, n, 0 };
	ZSTD_outBuffer o = { out, cap, 0 };

	if (fragment_bytes != 0) {
		ZSTD_CCtx_reset(z, ZSTD_reset_session_only);
		ZSTD_CCtx_setPledgedSrcSize(z, fragment_bytes);
	}
	size_t left = ZSTD_compressStream2(z, &o, &i, ZSTD_e_flush);
	assert(left == 0 && i.pos == n);
	(void)left;
	return o.pos;
}

/* Mark the block that ends the fragment as the last one. */
static void
end(void *fragment, size_t n)
{
	uint8_t *p = fragment;
	size_t at = FRAME_HEAD_BYTES, last = 0;

	assert(n > FRAME_HEAD_BYTES && p[4] == 0);
	while (at < n) {
		uint32_t block = p[at] | (uint32_t)p[at + 1] << 8 |
		                 (uint32_t)p[at + 2] << 16;
		bool rle = (block >> 1 & 3) == BLOCK_RLE;
		last = at;
		at += BLOCK_HEAD_BYTES + (rle ? 1 : block >> 3);
	}
	assert(at == n);
	p[last] |= BLOCK_LAST;
}

static void *
zstd_decoder_new(void)
{
	return ZSTD_createDCtx();
}

static void
zstd_decoder_free(void *z)
{
	ZSTD_freeDCtx(z);
}

/* Decode exactly one frame of this format; the library would also read older ones. */
static int
decode(void *z, const void *in, size_t in_bytes, void *out, size_t n, struct err *e)
{
	struct rd r = rd_from(in, in_bytes);

	if (rd_le32(&r) != FRAME_MAGIC ||
	    ZSTD_findFrameCompressedSize(in, in_bytes) != in_bytes ||
	    ZSTD_decompressDCtx(z, out, n, in, in_bytes) != n)
		return err_set(e, ERR_FORMAT, "its zstd frame is damaged");
	return 0;
}

const struct codec codec_zstd = {
	ZSTD_STREAM,
	.encoder_new = encoder_new,
	.encoder_free = encoder_free,
	.bound = bound,
	.window = window,
	.end = end,
	.decoder_new = zstd_decoder_new,
	.decoder_free = zstd_decoder_free,
	.decode = decode,
};

#else

const struct codec codec_zstd = { ZSTD_STREAM, .lacks = "zstd" };

#endif /* NO_ZSTD */
