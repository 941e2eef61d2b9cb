/* xxh64.c: XXH64 of a buffer, as in its specification (xxHash fast digest algorithm,
 * version 0.1.1).  The ledger of an installation and the checksums of btrfs call this, in
 * any thread. */
#include "common/base/xxh64.h"

#include "common/base/field.h"

enum { LANES = 4, STRIPE_BYTES = 8 * LANES };

static const uint64_t prime[] = { 0, 0x9e3779b185ebca87, 0xc2b2ae3d27d4eb4f,
	0x165667b19e3779f9, 0x85ebca77c2b2ae63, 0x27d4eb2f165667c5 };

static uint64_t
rotl(uint64_t v, unsigned n)
{
	return v << n | v >> (64 - n);
}

static uint64_t
round_of(uint64_t acc, uint64_t lane)
{
	return rotl(acc + lane * prime[2], 31) * prime[1];
}

/* The lanes are independent of one another, so the processor works on all at once. */
static uint64_t
stripes(const uint8_t *p, size_t n)
{
	uint64_t a = prime[1] + prime[2], b = prime[2], c = 0, d = -prime[1];

	for (; n > 0; n--, p += STRIPE_BYTES) {
		a = round_of(a, get_le64(p));
		b = round_of(b, get_le64(p + 8));
		c = round_of(c, get_le64(p + 16));
		d = round_of(d, get_le64(p + 24));
	}
	const uint64_t acc[LANES] = { a, b, c, d };
	uint64_t h = rotl(a, 1) + rotl(b, 7) + rotl(c, 12) + rotl(d, 18);
	for (int i = 0; i < LANES; i++)
		h = (h ^ round_of(0, acc[i])) * prime[1] + prime[4];
	return h;
}

/* Add the bytes behind the stripes, of which there are fewer than STRIPE_BYTES. */
static uint64_t
add_rest(uint64_t h, struct rd r)
{
	while (rd_left(&r) >= 8)
		h = rotl(h ^ round_of(0, rd_le64(&r)), 27) * prime[1] + prime[4];
	if (rd_left(&r) >= 4)
		h = rotl(h ^ rd_le32(&r) * prime[1], 23) * prime[2] + prime[3];
	while (rd_left(&r) > 0)
		h = rotl(h ^ rd_u8(&r) * prime[5], 11) * prime[1];
	return h;
}

uint64_t
xxh64(const void *data, size_t n)
{
	size_t whole = n / STRIPE_BYTES;
	uint64_t h = whole > 0 ? stripes(data, whole) : prime[5];

	h = add_rest(h + n, rd_from((const uint8_t *)data + whole * STRIPE_BYTES,
				n % STRIPE_BYTES));
	h = (h ^ h >> 33) * prime[2];
	h = (h ^ h >> 29) * prime[3];
	return h ^ h >> 32;
}
