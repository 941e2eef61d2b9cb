/* Modules that gzip, xz and zstd have compressed: what comes out, and those that end anywhere, are
 * changed anywhere or hold too much. */
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#ifndef NO_ZSTD
#include <zstd.h>
#endif

#include "stream/boot/unpack.h"
#include "tests/t.h"

enum { RAW_BYTES = 300000, ROOM_BYTES = RAW_BYTES + 65536 };

/* Bytes that compress to less than a quarter: every 16th is as random as these are. */
static uint8_t raw[RAW_BYTES];

static void
make_raw(void)
{
	uint32_t x = 1;

	for (size_t i = 0; i < sizeof raw; i += 16) {
		x = x * 1664525 + 1013904223;
		raw[i] = (uint8_t)(x >> 24);
	}
}

static size_t
by_gzip(uint8_t *out)
{
	z_stream z = { .next_in = raw, .avail_in = RAW_BYTES, .next_out = out, .avail_out = ROOM_BYTES };

	T_CHECK(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
	T_CHECK(deflate(&z, Z_FINISH) == Z_STREAM_END);
	deflateEnd(&z);
	return z.total_out;
}

/* As kernels are built: CRC-32. */
static size_t
by_xz(uint8_t *out)
{
	size_t n = 0;

	T_CHECK(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, NULL, raw, RAW_BYTES, out, &n, ROOM_BYTES) ==
	    LZMA_OK);
	return n;
}

#ifndef NO_ZSTD
static size_t
by_zstd(uint8_t *out)
{
	size_t n = ZSTD_compress(out, ROOM_BYTES, raw, RAW_BYTES, 3);

	T_CHECK(!ZSTD_isError(n));
	return n;
}
#endif

/* Decompress these bytes, which are in memory of exactly their size; true: raw came out. */
static bool
comes_out(const uint8_t *bytes, size_t n, size_t most, struct err *e)
{
	struct buf b = { .base = malloc(n > 0 ? n : 1), .len = n, .cap = n };

	if (b.base == NULL)
		return false;
	memcpy(b.base, bytes, n);
	bool right = unpack_module(&b, most, "kernel/a.ko", e) == 0 && b.len == RAW_BYTES &&
	    memcmp(b.base, raw, RAW_BYTES) == 0;
	buf_free(&b);
	return right;
}

/* All lengths at both ends, and some between them. */
static size_t
next_cut(size_t cut, size_t n)
{
	size_t late = n - 64;

	if (cut < 64 || cut >= late)
		return cut + 1;
	return cut + 4096 < late ? cut + 4096 : late;
}

static void
test_format(const char *name, size_t (*by)(uint8_t *out), size_t magic_bytes)
{
	static uint8_t out[ROOM_BYTES];
	char wanted[80];
	struct err e;
	size_t n = by(out), cuts = 0;

	T_CHECK(comes_out(out, n, 64 << 20, &e) && comes_out(out, n, RAW_BYTES, &e));
	T_CHECK(!comes_out(out, n, RAW_BYTES - 1, &e) && e.kind == ERR_UNSUPPORTED);
	T_CHECK(strcmp(e.text, "kernel/a.ko: holds more than 299999 bytes") == 0);
	snprintf(wanted, sizeof wanted, "kernel/a.ko: cannot be decompressed by %s", name);
	for (size_t cut = magic_bytes; cut < n; cut = next_cut(cut, n)) {
		T_CHECK(!comes_out(out, cut, 64 << 20, &e) && e.kind == ERR_FORMAT);
		T_CHECK(strcmp(e.text, wanted) == 0);
		cuts++;
	}
	T_CHECK(cuts > 64);
}

static void
test_others(void)
{
	static const char text[] = "\177ELF: is not compressed";
	struct buf b = { 0 };
	struct err e;

	T_CHECK(unpack_module(&b, 100, "a.ko", &e) == 0 && b.len == 0);
	buf_bytes(&b, text, sizeof text);
	T_CHECK(unpack_module(&b, 1, "a.ko", &e) == 0 && b.len == sizeof text);
	T_CHECK(memcmp(b.base, text, sizeof text) == 0);
	buf_free(&b);
}

int
main(void)
{
	make_raw();
	test_format("gzip", by_gzip, 2);
	test_format("xz", by_xz, 6);
#ifndef NO_ZSTD
	test_format("zstd", by_zstd, 4);
#endif
	test_others();
	return t_done();
}
