/* test_zero.c: is_zero() finds each bit, at each place of each length, and looks at no
 * other. */
#include "common/base/zero.h"
#include "tests/t.h"

enum { MOST = 130 };

static bool
finds_all(size_t n)
{
	uint8_t b[MOST + 2] = { 0 };
	bool ok = true;

	b[0] = b[n + 1] = 1; /* beside the bytes */
	ok = is_zero(b + 1, n);
	for (size_t i = 1; i <= n && ok; i++)
		for (unsigned bit = 0; bit < 8; bit++) {
			b[i] = (uint8_t)(1u << bit);
			ok = ok && !is_zero(b + 1, n);
			b[i] = 0;
		}
	return ok;
}

int
main(void)
{
	bool ok = true;

	for (size_t n = 0; n <= MOST; n++)
		ok = ok && finds_all(n);
	T_CHECK(ok);
	return t_done();
}
