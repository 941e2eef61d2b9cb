/* sha256_wide.c: hashes blocks of sixteen messages with AVX-512: one instruction works on a
 * word of each.  Sources: FIPS 180-4, and Intel's manual, volume 2.  sha256_many.c calls
 * this, in any thread. */
#include "common/base/sha256_kernel.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

enum { LANES = SHA256_LANES_MAX, WORDS = SHA256_WORDS };

#define WIDE_CODE __attribute__((target("avx512f,avx512bw")))

/* Sixteen rows of sixteen words become sixteen columns. */
WIDE_CODE static inline __attribute__((always_inline)) void
transpose(__m512i r[LANES])
{
	__m512i t[LANES];

#pragma GCC unroll 8
	for (int i = 0; i < LANES; i += 2) {
		t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
		t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
	}
#pragma GCC unroll 4
	for (int i = 0; i < LANES; i += 4) {
		r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
		r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
		r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
		r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
	}
#pragma GCC unroll 4
	for (int i = 0; i < 4; i++) {
		t[i] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0x88);
		t[i + 4] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0xdd);
		t[i + 8] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0x88);
		t[i + 12] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0xdd);
	}
#pragma GCC unroll 4
	for (int i = 0; i < 4; i++) {
		r[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
		r[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
		r[i + 4] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0x88);
		r[i + 12] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0xdd);
	}
}

#define ROTATED(x, a, b, c) \
	_mm512_ternarylogic_epi32(_mm512_ror_epi32(x, a), _mm512_ror_epi32(x, b), c, 0x96)
#define CHOICE(e, f, g) _mm512_ternarylogic_epi32(e, f, g, 0xca)
#define MAJORITY(a, b, c) _mm512_ternarylogic_epi32(a, b, c, 0xe8)
#define PLUS(a, b) _mm512_add_epi32(a, b)

/* Word i of the message schedule of all lanes; w[] has the last sixteen. */
WIDE_CODE static inline __attribute__((always_inline)) __m512i
schedule(const __m512i w[LANES], int i)
{
	__m512i x = w[(i + 1) % LANES], y = w[(i + 14) % LANES];
	__m512i s0 = ROTATED(x, 7, 18, _mm512_srli_epi32(x, 3));
	__m512i s1 = ROTATED(y, 17, 19, _mm512_srli_epi32(y, 10));

	return PLUS(PLUS(w[i % LANES], s0), PLUS(w[(i + 9) % LANES], s1));
}

/* One round of all lanes.  The words of the hash stay where they are, and their names move
 * on: a is h[-i mod 8]. */
WIDE_CODE static inline __attribute__((always_inline)) void
wide_round(__m512i h[WORDS], __m512i w, int i)
{
#define WORD(n) h[(n + 64 - i) % WORDS]
	__m512i t = PLUS(PLUS(WORD(7), w), _mm512_set1_epi32((int)sha256_constants[i]));

	t = PLUS(t, CHOICE(WORD(4), WORD(5), WORD(6)));
	t = PLUS(t, ROTATED(WORD(4), 6, 11, _mm512_ror_epi32(WORD(4), 25)));
	WORD(3) = PLUS(WORD(3), t);
	t = PLUS(t, ROTATED(WORD(0), 2, 13, _mm512_ror_epi32(WORD(0), 22)));
	WORD(7) = PLUS(t, MAJORITY(WORD(0), WORD(1), WORD(2)));
#undef WORD
}

/* Hash block number i of all lanes. */
WIDE_CODE static void
wide_block(__m512i hash[WORDS], const uint8_t *const at[LANES], size_t i)
{
	const __m512i swap = _mm512_broadcast_i32x4(_mm_set_epi8(
	    12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3));
	__m512i w[LANES], h[WORDS];

#pragma GCC unroll 16
	for (int k = 0; k < LANES; k++)
		w[k] = _mm512_shuffle_epi8(
		    _mm512_loadu_si512(at[k] + i * SHA256_BLOCK_BYTES), swap);
	transpose(w);
	memcpy(h, hash, sizeof h);
#pragma GCC unroll 64
	for (int k = 0; k < SHA256_ROUNDS; k++) {
		if (k >= LANES)
			w[k % LANES] = schedule(w, k);
		wide_round(h, w[k % LANES], k);
	}
	for (int k = 0; k < WORDS; k++)
		hash[k] = PLUS(hash[k], h[k]);
}

WIDE_CODE static void
wide_blocks(uint32_t *const hash[], const uint8_t *const at[], size_t nblocks)
{
	uint32_t words[WORDS][LANES];
	__m512i wide[WORDS];

	for (size_t i = 0; i < LANES; i++)
		for (size_t k = 0; k < WORDS; k++)
			words[k][i] = hash[i][k];
	memcpy(wide, words, sizeof wide);
	for (size_t i = 0; i < nblocks; i++)
		wide_block(wide, at, i);
	memcpy(words, wide, sizeof words);
	for (size_t i = 0; i < LANES; i++)
		for (size_t k = 0; k < WORDS; k++)
			hash[i][k] = words[k][i];
}

static bool
wide_usable(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
}

/* Sixteen lanes take as long as three pairs. */
const struct sha256_kernel sha256_kernel_wide = { LANES, 6, wide_usable, wide_blocks };
#endif
