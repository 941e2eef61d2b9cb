/* CRC-32C against its definition, bit by bit: every length around what is done at
 * once, at odd addresses, and in two parts. */
#include "common/base/crc32c.h"

#include "tests/random.h"
#include "tests/t.h"

enum { BYTES = 70000, POLYNOMIAL_REVERSED = (int)0x82f63b78 };

static uint8_t data[BYTES];

static uint32_t
slow(const uint8_t *p, size_t n)
{
	uint32_t c = UINT32_MAX;

	for (; n > 0; n--) {
		c ^= *p++;
		for (int bit = 0; bit < 8; bit++)
			c = c >> 1 ^ (c & 1 ? (uint32_t)POLYNOMIAL_REVERSED : 0);
	}
	return ~c;
}

static bool
agrees(size_t at, size_t n)
{
	uint32_t want = slow(data + at, n), first = crc32c(data + at, n / 3);

	return crc32c(data + at, n) == want &&
	       crc32c_more(first, data + at + n / 3, n - n / 3) == want;
}

int
main(void)
{
	unsigned wrong = 0;

	/* RFC 3720, B.4: 32 bytes of zeros; and the usual check value. */
	T_CHECK(crc32c(data, 32) == 0x8a9136aa);
	T_CHECK(crc32c("123456789", 9) == 0xe3069283);
	T_CHECK(crc32c(data, 0) == 0);
	draw_bytes(data, sizeof data);
	for (size_t n = 0; n < 1200; n++)
		wrong += !agrees(n % 17, n);
	for (size_t n = 4000; n + 32 < BYTES; n += 4099)
		wrong += !agrees(n % 19, n);
	T_CHECK(wrong == 0);
	return t_done();
}
