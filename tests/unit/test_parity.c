/* Parity: to the byte against a slow field, and back from any losses. */
#include <stdlib.h>
#include <string.h>

#include "common/wire/parity.h"
#include "tests/random.h"
#include "tests/t.h"

enum { BYTES = WIRE_CHUNK_BLOCKS * WIRE_BLOCK_BYTES };

static uint8_t
slow_times(uint8_t a, uint8_t b)
{
	unsigned sum = 0;

	for (unsigned i = 0, x = a; i < 8; i++, x = x << 1 ^ (x & 0x80 ? 0x11d : 0))
		if (b >> i & 1)
			sum ^= x;
	return (uint8_t)sum;
}

static uint8_t
slow_inverse(uint8_t a)
{
	for (unsigned b = 1; b < 256; b++)
		if (slow_times(a, (uint8_t)b) == 1)
			return (uint8_t)b;
	return 0;
}

static void
test_bytes(const uint8_t *chunk)
{
	uint8_t out[WIRE_BLOCK_BYTES];
	unsigned wrong = 0;

	for (uint32_t index = 0; index < WIREXT_PARITY_MAX; index += 42) {
		uint8_t want = 0;
		uint32_t group = index % WIREXT_GROUPS, at = index * 8;
		parity_make(chunk, group, index, out);
		for (uint32_t j = 0; j < WIREXT_GROUP_BLOCKS; j++)
			want ^= slow_times(slow_inverse((uint8_t)((128 + index) ^ j)),
			    chunk[(j * 8 + group) * WIRE_BLOCK_BYTES + at]);
		wrong += out[at] != want;
	}
	T_CHECK(wrong == 0);
}

/* Lose `lose` blocks of each group, put in different parity, decode. */
static bool
survives(const uint8_t *chunk, uint8_t *work, uint32_t lose)
{
	uint8_t at[WIRE_CHUNK_BLOCKS] = { 0 };
	struct err e;

	memcpy(work, chunk, BYTES);
	for (uint32_t g = 0; g < WIREXT_GROUPS; g++) {
		uint32_t first = draw(WIREXT_PARITY_MAX);
		for (uint32_t n = 0; n < lose; n++) {
			uint32_t p, index = (first + n) % WIREXT_PARITY_MAX;
			do
				p = draw(WIREXT_GROUP_BLOCKS) * WIREXT_GROUPS + g;
			while (at[p] != 0);
			at[p] = (uint8_t)(index + 1);
			parity_make(
			    chunk, g, index, work + (size_t)p * WIRE_BLOCK_BYTES);
		}
	}
	return parity_decode(work, at, &e) == 0 && memcmp(chunk, work, BYTES) == 0;
}

int
main(void)
{
	static const uint32_t losses[] = { 0, 1, 2, 5, 26, 64, 120, 127 };
	uint8_t *chunk = malloc(BYTES), *work = malloc(BYTES);
	struct err e;

	if (!parity_available() || chunk == NULL || work == NULL) {
		printf("built without parity\n");
		return 77;
	}
	for (uint32_t i = 0; i < BYTES; i++)
		chunk[i] = (uint8_t)draw(256);
	test_bytes(chunk);
	for (unsigned i = 0; i < sizeof losses / sizeof losses[0]; i++)
		T_CHECK(survives(chunk, work, losses[i]));
	uint8_t same[WIRE_CHUNK_BLOCKS] = { [0] = 5, [8] = 5 };
	T_CHECK(parity_decode(work, same, &e) != 0);
	free(chunk);
	free(work);
	return t_done();
}
