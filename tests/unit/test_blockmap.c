/* Sets of blocks against the plain array of flags that they stand for. */
#include <string.h>

#include "common/wire/blockmap.h"
#include "tests/t.h"

static bool
same(const struct blockmap *m, const bool *want)
{
	uint32_t n = 0, seen = 0;

	for (uint32_t b = 0; b < WIRE_CHUNK_BLOCKS; b++) {
		if (blockmap_test(m, b) != want[b])
			return false;
		n += want[b];
	}
	for (uint32_t b = blockmap_next(m, 0); b < WIRE_CHUNK_BLOCKS;
	     b = blockmap_next(m, b + 1)) {
		if (!want[b])
			return false;
		seen++;
	}
	return blockmap_count(m) == n && seen == n && blockmap_empty(m) == (n == 0);
}

static bool
range_is_right(uint32_t first, uint32_t count)
{
	bool want[WIRE_CHUNK_BLOCKS] = { false };
	struct blockmap m = blockmap_range(first, count);

	for (uint32_t b = first; b < first + count; b++)
		want[b] = true;
	return same(&m, want) && blockmap_run(&m, first, WIRE_CHUNK_BLOCKS) == count &&
	       (count < 2 || blockmap_run(&m, first, count - 1) == count - 1);
}

/* Taking a range out of all blocks leaves the others, and these blocks begin with as many as come
 * before the range. */
static bool
rest_is_right(uint32_t first, uint32_t count)
{
	struct blockmap rest = blockmap_range(0, WIRE_CHUNK_BLOCKS), taken = rest;
	uint32_t begins = count > 0 ? first : WIRE_CHUNK_BLOCKS;
	bool right = true;

	for (uint32_t b = first; b < first + count; b++)
		blockmap_clear(&rest, b);
	blockmap_remove(&taken, first, count);
	for (uint32_t n = 0; n <= WIRE_CHUNK_BLOCKS; n++)
		right = right && blockmap_begins_with(&rest, n) == (n <= begins);
	return right && memcmp(&rest, &taken, sizeof rest) == 0;
}

int
main(void)
{
	static const uint32_t edges[] = { 0, 1, 63, 64, 65, 127, 128, 511, 1000, 1023,
		1024 };
	enum { EDGES = sizeof edges / sizeof edges[0] };
	bool ranges = true, want[WIRE_CHUNK_BLOCKS] = { false };

	for (size_t i = 0; i < EDGES; i++)
		for (size_t k = i; k < EDGES; k++)
			ranges = ranges &&
			         range_is_right(edges[i], edges[k] - edges[i]) &&
			         rest_is_right(edges[i], edges[k] - edges[i]);
	T_CHECK(ranges);

	struct blockmap a = { { 0 } }, b = blockmap_range(100, 300);
	for (uint32_t i = 0; i < WIRE_CHUNK_BLOCKS; i += 7) {
		blockmap_set(&a, i);
		want[i] = true;
	}
	T_CHECK(same(&a, want));
	uint8_t wire[WIRE_MAP_BYTES];
	blockmap_put(&a, wire);
	T_CHECK(wire[0] == 0x81);
	T_CHECK(wire[1] == 0x40);
	struct blockmap back = blockmap_get(wire), both = blockmap_and(a, &b);
	struct blockmap rest = blockmap_minus(a, &b), sum = rest;
	T_CHECK(same(&back, want));
	blockmap_add(&sum, &both);
	T_CHECK(same(&sum, want));
	T_CHECK(blockmap_count(&both) == 43);
	for (uint32_t i = 100; i < 400; i++)
		want[i] = false;
	T_CHECK(same(&rest, want));
	blockmap_clear(&rest, 7);
	want[7] = false;
	T_CHECK(same(&rest, want));
	T_CHECK(blockmap_next(&b, 1024) == 1024);
	T_CHECK(blockmap_next(&b, 400) == 1024);
	return t_done();
}
