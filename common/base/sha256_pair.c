/* sha256_pair.c: hashes blocks of two messages with the SHA instructions.  A round waits for
 * the round before it; the rounds of the other message fill that wait.  Source: Intel's
 * manual, volume 2.  sha256_many.c calls this, in any thread. */
#include "common/base/sha256_kernel.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

enum { GROUPS = SHA256_ROUNDS / 4 };

#define SHA_CODE __attribute__((target("sha,sse4.1,ssse3")))

/* The eight words of a hash, in the order that the instructions need. */
struct state {
	__m128i abef, cdgh;
};

SHA_CODE static struct state
state_of(const uint32_t hash[SHA256_WORDS])
{
	const __m128i *v = (const __m128i *)hash;
	__m128i badc = _mm_shuffle_epi32(_mm_loadu_si128(v), 0xb1);
	__m128i hgfe = _mm_shuffle_epi32(_mm_loadu_si128(v + 1), 0x1b);

	return (struct state){ _mm_alignr_epi8(badc, hgfe, 8),
		_mm_blend_epi16(hgfe, badc, 0xf0) };
}

SHA_CODE static void
put_state(uint32_t hash[SHA256_WORDS], const struct state *s)
{
	__m128i feba = _mm_shuffle_epi32(s->abef, 0x1b);
	__m128i dchg = _mm_shuffle_epi32(s->cdgh, 0xb1);

	_mm_storeu_si128((__m128i *)hash, _mm_blend_epi16(feba, dchg, 0xf0));
	_mm_storeu_si128((__m128i *)hash + 1, _mm_alignr_epi8(dchg, feba, 8));
}

/* The next four words of the message schedule. w[] has the last sixteen. */
#define SCHEDULE(w, i) \
	_mm_sha256msg2_epu32( \
	    _mm_add_epi32(_mm_sha256msg1_epu32(w[i % 4], w[(i + 1) % 4]), \
		_mm_alignr_epi8(w[(i + 3) % 4], w[(i + 2) % 4], 4)), \
	    w[(i + 3) % 4])

SHA_CODE static inline __attribute__((always_inline)) void
four_rounds(struct state *s, __m128i w, __m128i k)
{
	__m128i sum = _mm_add_epi32(w, k);

	s->cdgh = _mm_sha256rnds2_epu32(s->cdgh, s->abef, sum);
	s->abef = _mm_sha256rnds2_epu32(s->abef, s->cdgh, _mm_shuffle_epi32(sum, 0x0e));
}

SHA_CODE static void
two_blocks(struct state *a, struct state *b, const uint8_t *p, const uint8_t *q, size_t n)
{
	const __m128i swap = _mm_set_epi8(
	    12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);

	for (; n > 0; n--, p += SHA256_BLOCK_BYTES, q += SHA256_BLOCK_BYTES) {
		struct state x = *a, y = *b;
		__m128i v[4], w[4];
#pragma GCC unroll 16
		for (int i = 0; i < GROUPS; i++) {
			__m128i k = _mm_load_si128((const __m128i *)sha256_constants + i);
			if (i < 4) {
				v[i] = _mm_shuffle_epi8(
				    _mm_loadu_si128((const __m128i *)p + i), swap);
				w[i] = _mm_shuffle_epi8(
				    _mm_loadu_si128((const __m128i *)q + i), swap);
			} else {
				v[i % 4] = SCHEDULE(v, i);
				w[i % 4] = SCHEDULE(w, i);
			}
			four_rounds(&x, v[i % 4], k);
			four_rounds(&y, w[i % 4], k);
		}
		a->abef = _mm_add_epi32(a->abef, x.abef);
		a->cdgh = _mm_add_epi32(a->cdgh, x.cdgh);
		b->abef = _mm_add_epi32(b->abef, y.abef);
		b->cdgh = _mm_add_epi32(b->cdgh, y.cdgh);
	}
}

static void
pair_blocks(uint32_t *const hash[], const uint8_t *const at[], size_t nblocks)
{
	struct state a = state_of(hash[0]), b = state_of(hash[1]);

	two_blocks(&a, &b, at[0], at[1], nblocks);
	put_state(hash[0], &a);
	put_state(hash[1], &b);
}

static bool
pair_usable(void)
{
	unsigned a, b, c, d;

	return __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("ssse3") &&
	       __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_SHA) != 0;
}

const struct sha256_kernel sha256_kernel_pair = { 2, 1, pair_usable, pair_blocks };
#endif
