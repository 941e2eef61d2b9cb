/* sha256_pair.c: computes SHA-256 of several messages, two at once.  On processors with the
 * SHA instructions a round waits for the round before it; the rounds of the other message
 * fill that wait.  Sources: FIPS 180-4, and Intel's manual, volume 2, for the instructions.
 * ext.c, fragments.c, compress.c and rebuild.c call this where they need several digests,
 * in any thread. */
#include "common/base/sha256.h"

#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#include <pthread.h>

enum { BLOCK_BYTES = 64, GROUPS = 16, LENGTH_AT = 56 };

#define SHA_CODE __attribute__((target("sha,sse4.1,ssse3")))

static const uint32_t constants[4 * GROUPS]
    __attribute__((aligned(16))) = { 0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5,
	    0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
	    0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
	    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	    0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138,
	    0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624,
	    0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5,
	    0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f,
	    0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2 };

/* The eight words of a hash, in the order that the instructions need. */
struct state {
	__m128i abef, cdgh;
};

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
blocks(struct state *a, struct state *b, const uint8_t *p, const uint8_t *q, size_t n)
{
	const __m128i swap = _mm_set_epi8(
	    12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);

	for (; n > 0; n--, p += BLOCK_BYTES, q += BLOCK_BYTES) {
		struct state x = *a, y = *b;
		__m128i v[4], w[4];
#pragma GCC unroll 16
		for (int i = 0; i < GROUPS; i++) {
			__m128i k = _mm_load_si128((const __m128i *)constants + i);
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

SHA_CODE static void
put_digest(const struct state *s, uint8_t digest[SHA256_BYTES])
{
	const __m128i swap = _mm_set_epi8(
	    12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
	__m128i feba = _mm_shuffle_epi32(s->abef, 0x1b);
	__m128i dchg = _mm_shuffle_epi32(s->cdgh, 0xb1);

	_mm_storeu_si128((__m128i *)digest,
	    _mm_shuffle_epi8(_mm_blend_epi16(feba, dchg, 0xf0), swap));
	_mm_storeu_si128((__m128i *)digest + 1,
	    _mm_shuffle_epi8(_mm_alignr_epi8(dchg, feba, 8), swap));
}

/* Writes the last bytes of a message and its padding; returns how many blocks they are, 1
 * or 2. */
static size_t
pad(uint8_t last[2 * BLOCK_BYTES], const uint8_t *data, size_t n)
{
	size_t rest = n % BLOCK_BYTES, count = rest < LENGTH_AT ? 1 : 2;
	uint64_t bits = (uint64_t)n * 8;

	memset(last, 0, 2 * BLOCK_BYTES);
	memcpy(last, data + (n - rest), rest);
	last[rest] = 0x80;
	for (size_t i = 0; i < 8; i++)
		last[count * BLOCK_BYTES - 1 - i] = (uint8_t)(bits >> 8 * i);
	return count;
}

/* A message that is being hashed: first its whole blocks, then those of its end. */
struct lane {
	struct sha256_message *message; /* NULL: none */
	struct state state;
	const uint8_t *at;
	size_t nblocks; /* blocks at `at` that are still to be hashed */
	bool ended;     /* the blocks at `at` are those of `last` */
	uint8_t last[2 * BLOCK_BYTES];
};

/* The messages that no lane has taken yet. */
struct waiting {
	struct sha256_message *next, *end;
};

/* Gives the lane blocks to hash, from its message or from the next one.  False: there are
 * no more. */
SHA_CODE static bool
fill(struct lane *l, struct waiting *w)
{
	while (l->message == NULL || l->nblocks == 0) {
		if (l->message != NULL && !l->ended) {
			l->nblocks = pad(l->last, l->message->data, l->message->bytes);
			l->at = l->last;
			l->ended = true;
			continue;
		}
		if (l->message != NULL)
			put_digest(&l->state, l->message->digest);
		l->message = w->next < w->end ? w->next++ : NULL;
		if (l->message == NULL)
			return false;
		l->state = (struct state){ _mm_set_epi32(0x6a09e667, (int)0xbb67ae85,
					       0x510e527f, (int)0x9b05688c),
			_mm_set_epi32(
			    0x3c6ef372, (int)0xa54ff53a, 0x1f83d9ab, 0x5be0cd19) };
		l->at = l->message->data;
		l->nblocks = l->message->bytes / BLOCK_BYTES;
		l->ended = false;
	}
	return true;
}

static void
advance(struct lane *l, size_t n)
{
	l->at += n * BLOCK_BYTES;
	l->nblocks -= n;
}

/* Hashes n messages in two lanes; a lane that has finished its message takes the next one. */
SHA_CODE static void
many(struct sha256_message *v, size_t n)
{
	struct waiting w = { v, v + n };
	struct lane a = { 0 }, b = { 0 };

	for (;;) {
		bool one = fill(&a, &w), two = fill(&b, &w);
		if (!one && !two)
			return;
		struct lane *x = one ? &a : &b, *y = two ? &b : &a;
		size_t both = x->nblocks < y->nblocks ? x->nblocks : y->nblocks;
		struct state idle = x->state;
		blocks(&x->state, x == y ? &idle : &y->state, x->at, y->at, both);
		advance(x, both);
		if (x != y)
			advance(y, both);
	}
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool has_sha;

static void
look(void)
{
	unsigned a, b, c, d;

	has_sha = __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("ssse3") &&
	          __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_SHA) != 0;
}

static bool
try_many(struct sha256_message *v, size_t n)
{
	pthread_once(&once, look);
	if (has_sha)
		many(v, n);
	return has_sha;
}
#else
static bool
try_many(struct sha256_message *v, size_t n)
{
	(void)v, (void)n;
	return false;
}
#endif

void
sha256_many(struct sha256_message *v, size_t n)
{
	if (try_many(v, n))
		return;
	for (; n > 0; n--, v++)
		sha256(v->data, v->bytes, v->digest);
}

void
sha256_pair(const void *a, size_t a_bytes, const void *b, size_t b_bytes,
    uint8_t digest_a[SHA256_BYTES], uint8_t digest_b[SHA256_BYTES])
{
	struct sha256_message v[2] = { { .data = a, .bytes = a_bytes },
		{ .data = b, .bytes = b_bytes } };

	sha256_many(v, 2);
	memcpy(digest_a, v[0].digest, SHA256_BYTES);
	memcpy(digest_b, v[1].digest, SHA256_BYTES);
}
