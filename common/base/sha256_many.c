/* sha256_many.c: computes SHA-256 of several messages at once, with the widest kernel that the
 * processor has and that is worth it for so many.  ext.c, fragments.c, compress.c, prepare.c,
 * rebuild.c and scan.c call this where they need several digests, in any thread.  Source:
 * FIPS 180-4. */
#include <pthread.h>
#include <string.h>

#include "common/base/sha256.h"
#include "common/base/sha256_kernel.h"
#include "common/base/wr.h"

#if defined(__x86_64__)
static const struct sha256_kernel *const kernels[] = { &sha256_kernel_wide,
	&sha256_kernel_pair };
enum { KERNELS = sizeof kernels / sizeof *kernels };
#else
static const struct sha256_kernel *const *const kernels;
enum { KERNELS = 0 };
#endif

enum { BLOCK_BYTES = SHA256_BLOCK_BYTES, WORDS = SHA256_WORDS, LENGTH_AT = 56 };

const uint32_t sha256_constants[SHA256_ROUNDS]
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

/* A message that is being hashed: first its whole blocks, then those of its end. */
struct lane {
	struct sha256_message *message; /* NULL: none */
	uint32_t hash[WORDS];
	const uint8_t *at;
	size_t nblocks; /* blocks at `at` that are still to be hashed */
	bool ended;     /* the blocks at `at` are those of `last` */
	uint8_t last[2 * BLOCK_BYTES];
};

/* The messages that no lane has taken yet. */
struct waiting {
	struct sha256_message *next, *end;
};

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

static void
begin(struct lane *l, struct sha256_message *m)
{
	static const uint32_t first[WORDS] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372,
		0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

	l->message = m;
	memcpy(l->hash, first, sizeof l->hash);
	l->at = m->data;
	l->nblocks = m->bytes / BLOCK_BYTES;
	l->ended = false;
}

static void
put_digest(const struct lane *l)
{
	struct wr w = wr_to(l->message->digest, sizeof l->message->digest);

	for (size_t i = 0; i < WORDS; i++)
		wr_be32(&w, l->hash[i]);
}

/* Give the lane blocks to hash, from its message or from the next one.  False: there are no
 * more. */
static bool
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
			put_digest(l);
		l->message = NULL;
		if (w->next == w->end)
			return false;
		begin(l, w->next++);
	}
	return true;
}

/* The kernel for so many messages: the first one that is worth it, or else the last one that
 * this processor has.  NULL: it has none. */
static const struct sha256_kernel *
kernel_for(size_t n, const struct sha256_kernel *const usable[])
{
	const struct sha256_kernel *k = NULL;

	for (size_t i = 0; i < KERNELS && usable[i] != NULL; i++) {
		k = usable[i];
		if (k->worth <= n)
			break;
	}
	return k;
}

/* Hash as many blocks as each of the lanes has.  What the kernel has more lanes than there are
 * hashes the first message once more, for nothing. */
static void
advance(const struct sha256_kernel *k, struct lane *const busy[], size_t n)
{
	uint32_t idle[SHA256_LANES_MAX][WORDS], *hash[SHA256_LANES_MAX];
	const uint8_t *at[SHA256_LANES_MAX];
	size_t nblocks = SIZE_MAX;

	n = n < k->lanes ? n : k->lanes;
	for (size_t i = 0; i < k->lanes; i++) {
		hash[i] = i < n ? busy[i]->hash : memcpy(idle[i], busy[0]->hash, sizeof idle[i]);
		at[i] = busy[i < n ? i : 0]->at;
		if (i < n && busy[i]->nblocks < nblocks)
			nblocks = busy[i]->nblocks;
	}
	k->blocks(hash, at, nblocks);
	for (size_t i = 0; i < n; i++) {
		busy[i]->at += nblocks * BLOCK_BYTES;
		busy[i]->nblocks -= nblocks;
	}
}

static void
many(const struct sha256_kernel *const usable[], struct sha256_message *v, size_t n)
{
	struct waiting w = { v, v + n };
	struct lane lanes[SHA256_LANES_MAX], *busy[SHA256_LANES_MAX];
	size_t most = usable[0]->lanes;

	for (size_t i = 0; i < most; i++)
		lanes[i].message = NULL;
	for (;;) {
		size_t nbusy = 0;
		for (size_t i = 0; i < most; i++)
			if (fill(&lanes[i], &w))
				busy[nbusy++] = &lanes[i];
		if (nbusy == 0)
			return;
		advance(kernel_for(nbusy, usable), busy, nbusy);
	}
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const struct sha256_kernel *usable[KERNELS + 1];

static void
look(void)
{
	size_t n = 0;

	for (size_t i = 0; i < KERNELS; i++)
		if (kernels[i]->usable())
			usable[n++] = kernels[i];
}

void
sha256_many(struct sha256_message *v, size_t n)
{
	pthread_once(&once, look);
	const struct sha256_kernel *k = kernel_for(n, usable);

	if (k != NULL && n > 1 && n >= k->worth) {
		many(usable, v, n);
		return;
	}
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
