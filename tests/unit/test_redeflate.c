/* Streams of other programs: levels, piece rules and end of a region is found out
 * and made again to the byte, and what is not theirs is not found. */
#include "emustore/store/redeflate.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/image/codec/deflate.h"
#include "tests/t.h"

enum { SECTORS = 1130, RAW = SECTORS * 512, PIECE = 131072 };

static uint8_t raw[RAW], stream[NDZ_STREAM_MAX], again[NDZ_STREAM_MAX];

static void
fill(void)
{
	uint32_t x = 1;

	for (size_t i = 0; i < RAW; i++) {
		x = x * 1664525 + 1013904223;
		raw[i] = i % 4096 < 1500 ? (uint8_t)(x >> 24)
		                         : (uint8_t)(i / 7 % 64 + (x >> 31));
	}
}

/* As the format specification says it; written apart from what is tested. */
static size_t
original(
    const struct ndz_header *h, int level, int memory, bool flush, size_t piece_max)
{
	z_stream z = { .next_out = stream, .avail_out = sizeof stream };
	size_t at = 0;

	deflateInit2(&z, level, Z_DEFLATED, 15, memory, Z_DEFAULT_STRATEGY);
	for (unsigned i = 0; i < h->nregions; i++)
		for (size_t left = h->regions[i].len * 512; left > 0;) {
			size_t n = left < piece_max ? left : piece_max;
			if (flush && n > z.avail_out - 1024)
				n = (z.avail_out - 1024) / 512 * 512;
			z.next_in = raw + at;
			z.avail_in = (uInt)n;
			deflate(&z, flush ? Z_SYNC_FLUSH : Z_NO_FLUSH);
			at += n;
			left -= n;
		}
	deflate(&z, Z_FINISH);
	size_t made = sizeof stream - z.avail_out;
	deflateEnd(&z);
	return made;
}

static bool
make_again(
    struct redeflater *r, const struct ndz_header *h, const struct redeflate_how *how)
{
	struct err e;
	size_t bytes = (size_t)ndz_header_raw_bytes(h);

	if (redeflate_begin(r, how, h, again, &e) != 0)
		return false;
	for (size_t at = 0, n; at < bytes; at += n) {
		n = bytes - at < 65536 ? bytes - at : 65536;
		if (!redeflate_data(r, raw + at, n))
			return false;
	}
	return redeflate_end(r) == h->size && memcmp(again, stream, h->size) == 0;
}

int
main(void)
{
	struct ndz_header h = { .version = 3, .nregions = 3 };
	struct redeflater *r = redeflater_new();
	struct inflater *in = inflater_new();
	struct redeflate_how how;
	struct err e;
	static const uint8_t levels[] = { 1, 2, 4, 6, 9 };

	fill();
	h.regions[0] = (struct range){ 0, 999 };
	h.regions[1] = (struct range){ 1001, 1 };
	h.regions[2] = (struct range){ 1003, SECTORS - 1000 };
	for (size_t l = 0; l < sizeof levels; l++)
		for (int memory = 8; memory <= 9; memory++)
			for (int flush = 0; flush <= 1; flush++) {
				h.size = (uint32_t)original(
				    &h, levels[l], memory, flush, PIECE);
				how = (struct redeflate_how){ 0 };
				T_CHECK(redeflate_find(r, in, &h, stream, &how, &e) == 1);
				T_CHECK(make_again(r, &h, &how));
				T_CHECK(how.zlib[0] != 0);
				/* Again, with what worked. */
				T_CHECK(redeflate_find(r, in, &h, stream, &how, &e) == 1);
			}
	/* Of other pieces, and of another memLevel: nobody knows them. */
	how = (struct redeflate_how){ 0 };
	h.size = (uint32_t)original(&h, 4, 8, true, 100000);
	T_CHECK(redeflate_find(r, in, &h, stream, &how, &e) == 0);
	h.size = (uint32_t)original(&h, 6, 5, true, PIECE);
	T_CHECK(redeflate_find(r, in, &h, stream, &how, &e) == 0);
	/* Damaged, and cut short. */
	h.size = (uint32_t)original(&h, 4, 8, true, PIECE);
	stream[h.size - 1] ^= 1;
	T_CHECK(redeflate_find(r, in, &h, stream, &how, &e) != 1);
	stream[h.size - 1] ^= 1;
	h.size -= 5;
	T_CHECK(redeflate_find(r, in, &h, stream, &how, &e) != 1);
	h.size += 5;
	/* More data than the regions say. */
	how = (struct redeflate_how){ REDEFLATE_FLUSHED, 4, 8, "" };
	T_CHECK(make_again(r, &h, &how));
	T_CHECK(!redeflate_data(r, raw, 512));
	redeflater_free(r);
	inflater_free(in);
	return t_done();
}
