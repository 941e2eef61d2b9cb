/* Blocks that come before their chunk is proved: kept at their places, forgotten with their chunk,
 * and no more of them than there is room for. */
#include "common/image/read/early.h"

#include <stdlib.h>
#include <string.h>

#include "tests/t.h"

enum { CHUNKS = 50, PIECE_BYTES = (EARLY_PIECE_BLOCKS + 2) * WIRE_BLOCK_BYTES };

static struct stock *x;
static struct err e;
static uint8_t chunk_bytes[WIRE_CHUNK_BLOCKS * WIRE_BLOCK_BYTES];

static void
fill(uint8_t *to, uint32_t chunk, uint32_t first, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		memset(to + (size_t)i * WIRE_BLOCK_BYTES,
		    (int)(chunk * 31 + (first + i) * 7 + 1), WIRE_BLOCK_BYTES);
}

static bool
keep(uint32_t chunk, uint32_t first, uint32_t count)
{
	fill(chunk_bytes, chunk, first, count);
	return early_keep(x, chunk, first, count, chunk_bytes);
}

static uint32_t
lacks(uint32_t chunk, uint32_t first, uint32_t count)
{
	struct blockmap need = blockmap_range(first, count);
	struct blockmap lack = early_read(x, chunk, &need, 0, NULL);

	return blockmap_count(&lack);
}

/* Are these blocks what was kept, and are the bytes around them untouched? */
static bool
reads(uint32_t chunk, uint32_t first, uint32_t count)
{
	static uint8_t got[sizeof chunk_bytes], right[sizeof chunk_bytes];
	struct blockmap need = blockmap_range(first, count);

	memset(got, 0, sizeof got);
	memset(right, 0, sizeof right);
	fill(right, chunk, first, count);
	early_read(x, chunk, &need, first, got);
	return memcmp(got, right, sizeof got) == 0;
}

static void
test_places(void)
{
	const uint32_t runs[][2] = { { 0, 1 }, { 1023, 1 }, { 9, 15 }, { 0, 8 }, { 500, 524 } };

	T_CHECK(early_open(&x, 0, &e) == 0);
	T_CHECK(lacks(3, 0, 1024) == 1024);
	for (unsigned i = 0; i < sizeof runs / sizeof runs[0]; i++) {
		T_CHECK(keep(i, runs[i][0], runs[i][1]));
		T_CHECK(lacks(i, 0, 1024) == 1024 - runs[i][1]);
		T_CHECK(lacks(i, runs[i][0], runs[i][1]) == 0);
		T_CHECK(reads(i, runs[i][0], runs[i][1]));
	}
	T_CHECK(keep(2, 20, 30)); /* some of them are here */
	T_CHECK(reads(2, 9, 41));
	early_forget(x, 2);
	early_forget(x, CHUNKS - 1);
	T_CHECK(lacks(2, 0, 1024) == 1024);
	T_CHECK(reads(4, 500, 524));
	stock_free(x);
}

/* Room for four pieces: the four used last are here. */
static void
test_room(void)
{
	T_CHECK(early_open(&x, 4 * PIECE_BYTES, &e) == 0);
	for (uint32_t i = 0; i < 4; i++)
		T_CHECK(keep(i, 0, EARLY_PIECE_BLOCKS));
	T_CHECK(reads(0, 0, 5));
	T_CHECK(keep(7, 100, 1));
	T_CHECK(lacks(1, 0, 1) == 1);
	T_CHECK(lacks(0, 0, 1) + lacks(2, 0, 1) + lacks(3, 0, 1) + lacks(7, 100, 1) == 0);
	for (uint32_t i = 0; i < CHUNKS; i++) {
		T_CHECK(keep(i, i, 1));
		T_CHECK(stock_bytes(x) <= 4 * PIECE_BYTES);
	}
	T_CHECK(reads(CHUNKS - 1, CHUNKS - 1, 1));
	/* Of a chunk that has no room, the last blocks are kept. */
	T_CHECK(keep(5, 0, WIRE_CHUNK_BLOCKS));
	T_CHECK(reads(5, 960, 64));
	T_CHECK(lacks(5, 0, 960) == 960);
	stock_free(x);
}

int
main(void)
{
	test_places();
	test_room();
	return t_done();
}
