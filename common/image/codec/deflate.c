/* deflate.c: the compressing side of deflate.h, and Adler-32.  The codecs call the
 * deflater, each in the thread that has it; everything that makes or checks streams calls
 * the sums, in any thread. */
#include "common/image/codec/deflate.h"

#include <assert.h>
#include <stdlib.h>
#include <zlib.h>

#include "common/base/wr.h"

#ifndef NO_LIBDEFLATE
#include <libdeflate.h>

/* The library is never instrumented by a sanitizer, so the memory that it may touch is
 * checked here. */
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define MAY_TOUCH(p, n) (__asan_region_is_poisoned((void *)(p), (n)) == NULL)
#else
#define MAY_TOUCH(p, n) 1
#endif

/* libdeflate_deflate_compress_nofinal() may add an empty block of 6 bytes. */
enum { ALIGN_BYTES = 6 };

struct deflater {
	struct libdeflate_compressor *c;
};

static int
deflater_setup(struct deflater *d, int level)
{
	d->c = libdeflate_alloc_compressor(level);
	return d->c == NULL ? -1 : 0;
}

static void
deflater_teardown(struct deflater *d)
{
	libdeflate_free_compressor(d->c);
}

size_t
deflater_bound(size_t raw_bytes)
{
	return libdeflate_deflate_compress_bound(NULL, raw_bytes) + ALIGN_BYTES;
}

size_t
deflater_fragment(struct deflater *d, const void *in, size_t n, void *out, size_t cap)
{
	assert(MAY_TOUCH(in, n) && MAY_TOUCH(out, cap));
	size_t len = libdeflate_deflate_compress_nofinal(d->c, in, n, out, cap);

	assert(len != 0); /* cap >= deflater_bound(n) */
	return len;
}

uint32_t
adler_update(uint32_t adler, const void *data, size_t n)
{
	return libdeflate_adler32(adler, data, n);
}

#else /* zlib alone */

struct deflater {
	z_stream z;
};

static int
deflater_setup(struct deflater *d, int level)
{
	return deflateInit2(&d->z, level, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) ==
	               Z_OK
	           ? 0
	           : -1;
}

static void
deflater_teardown(struct deflater *d)
{
	deflateEnd(&d->z);
}

size_t
deflater_bound(size_t raw_bytes)
{
	return raw_bytes + raw_bytes / 1000 + 128;
}

size_t
deflater_fragment(struct deflater *d, const void *in, size_t n, void *out, size_t cap)
{
	deflateReset(&d->z);
	d->z.next_in = (Bytef *)(uintptr_t)in;
	d->z.avail_in = (uInt)n;
	d->z.next_out = out;
	d->z.avail_out = (uInt)cap;
	int rc = deflate(&d->z, Z_SYNC_FLUSH);
	assert(rc == Z_OK && d->z.avail_in == 0 && d->z.avail_out > 0);
	return cap - d->z.avail_out;
}

uint32_t
adler_update(uint32_t adler, const void *data, size_t n)
{
	return (uint32_t)adler32_z(adler, data, n);
}

#endif /* NO_LIBDEFLATE */

struct deflater *
deflater_new(int level)
{
	struct deflater *d = calloc(1, sizeof *d);

	if (d != NULL && deflater_setup(d, level) != 0) {
		free(d);
		return NULL;
	}
	return d;
}

void
deflater_free(struct deflater *d)
{
	if (d == NULL)
		return;
	deflater_teardown(d);
	free(d);
}

void
deflate_stream_head(int level, uint8_t head[STREAM_HEAD_BYTES])
{
	/* FLEVEL and FCHECK as zlib sets them for each level (RFC 1950). */
	static const uint8_t flags[10] = { 0x01, 0x01, 0x5e, 0x5e, 0x5e, 0x5e, 0x9c,
		0xda, 0xda, 0xda };

	assert(level >= 0 && level <= 9);
	head[0] = 0x78;
	head[1] = flags[level];
}

void
deflate_stream_tail(uint32_t adler, uint8_t tail[STREAM_TAIL_BYTES])
{
	const uint8_t bytes[STREAM_TAIL_BYTES] = { 0x03, 0x00, (uint8_t)(adler >> 24),
		(uint8_t)(adler >> 16), (uint8_t)(adler >> 8), (uint8_t)adler };

	memcpy(tail, bytes, sizeof bytes);
}

uint32_t
adler_of(const void *data, size_t n)
{
	return adler_update(1, data, n);
}

enum { ADLER_MOD = 65521 };

uint32_t
adler_combine(uint32_t a, uint32_t b, uint64_t b_bytes)
{
	uint64_t n = b_bytes % ADLER_MOD;
	uint64_t a1 = a & 0xffff, a2 = a >> 16, b1 = b & 0xffff, b2 = b >> 16;
	/* The sum of b started from 1 and not from a1, so every byte of b counts a1 - 1
	 * more. */
	uint64_t lo = (a1 + b1 + ADLER_MOD - 1) % ADLER_MOD;
	uint64_t hi = (a2 + b2 + n * (a1 + ADLER_MOD - 1)) % ADLER_MOD;

	return (uint32_t)(hi << 16 | lo);
}

uint32_t
adler_zeros(uint64_t n)
{
	return (uint32_t)(n % ADLER_MOD) << 16 | 1;
}
