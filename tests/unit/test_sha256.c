/* Several messages at once have the digests that they have alone: every length around
 * a block's, of the same length and of others, and long ones, at odd addresses. */
#include "common/base/sha256.h"

#include <stdio.h>
#include <string.h>

#include "common/base/sha256_kernel.h"
#include "tests/random.h"
#include "tests/t.h"

enum { BYTES = 1 << 20 };

static uint8_t data[2][BYTES + 64];

static bool
agrees(size_t skew, size_t n, size_t m)
{
	uint8_t want[2][SHA256_BYTES], got[2][SHA256_BYTES];

	sha256(data[0] + skew, n, want[0]);
	sha256(data[1] + 2 * skew, m, want[1]);
	sha256_pair(data[0] + skew, n, data[1] + 2 * skew, m, got[0], got[1]);
	return memcmp(want, got, sizeof want) == 0;
}

/* Many at once, of lengths by chance: as each alone. */
static bool
many_agree(size_t n, size_t most)
{
	static struct sha256_message v[64];
	uint8_t want[SHA256_BYTES];
	bool good = true;

	for (size_t i = 0; i < n; i++)
		v[i] = (struct sha256_message){ .data = data[i % 2] + i,
			.bytes = draw(most + 1) };
	sha256_many(v, n);
	for (size_t i = 0; i < n; i++) {
		sha256(v[i].data, v[i].bytes, want);
		good = good && memcmp(want, v[i].digest, sizeof want) == 0;
	}
	return good;
}

#if defined(__x86_64__)
static void
tell_untried(const struct sha256_kernel *k)
{
	if (!k->usable())
		printf("this processor has not what %zu messages at once need: not tried\n",
		    k->lanes);
}
#endif

int
main(void)
{
	static const uint8_t abc[SHA256_BYTES] = { 0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01,
		0xcf, 0xea, 0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23, 0xb0, 0x03,
		0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00,
		0x15, 0xad };
	uint8_t got[2][SHA256_BYTES];
	unsigned wrong = 0;

	/* FIPS 180-4's example. */
	sha256_pair("abc", 3, "abd", 3, got[0], got[1]);
	T_CHECK(memcmp(got[0], abc, sizeof abc) == 0);
	T_CHECK(memcmp(got[1], abc, sizeof abc) != 0);
	draw_bytes(data, sizeof data);
	for (size_t n = 0; n < 300; n++)
		wrong += !agrees(n % 3, n, n) + !agrees(n % 3, n, 299 - n) +
		         !agrees(1, 77, n);
	T_CHECK(wrong == 0);
	sha256_many(NULL, 0);
	for (size_t n = 1; n <= 64; n++)
		T_CHECK(many_agree(n, 300) && many_agree(n, 20000));
#if defined(__x86_64__)
	tell_untried(&sha256_kernel_wide);
	tell_untried(&sha256_kernel_pair);
#endif
	T_CHECK(agrees(0, BYTES, BYTES));
	T_CHECK(agrees(1, BYTES - 1, BYTES - 1));
	T_CHECK(agrees(5, 65536, 65536));
	T_CHECK(agrees(3, BYTES, 70000));
	T_CHECK(agrees(1, 0, BYTES));
	T_CHECK(agrees(0, 65536, 1));
	return t_done();
}
