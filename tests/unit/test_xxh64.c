/* XXH64 against values published elsewhere, and of each length, aligned or not. */
#include "common/base/xxh64.h"

#include <string.h>

#include "tests/t.h"

int
main(void)
{
	static const char text[] = "Nobody inspects the spammish repetition";
	uint8_t a[101], b[101];
	uint64_t last = 0;

	T_CHECK(xxh64("", 0) == 0xef46db3751d8e999);
	T_CHECK(xxh64("abc", 3) == 0x44bc2cf5ad770999);
	T_CHECK(xxh64(text, strlen(text)) == 0xfbcea83c8a378bf1);
	for (unsigned i = 0; i < sizeof a; i++)
		a[i] = (uint8_t)(7 * i);
	for (size_t n = 0; n < sizeof a - 1; n++) {
		memcpy(b + 1, a, n);
		uint64_t h = xxh64(a, n);
		T_CHECK(h == xxh64(b + 1, n) && h != last);
		last = h;
		if (n > 0) {
			b[n] ^= 1;
			T_CHECK(xxh64(b + 1, n) != h);
		}
	}
	return t_done();
}
