/* Where a number belongs in what is sorted: before, at, between and behind elements, of which
 * some are alike, and where there are none. */
#include "common/base/bisect.h"

#include "tests/t.h"

static bool
is_less(const void *in, size_t i, uint64_t key)
{
	const uint64_t *v = in;

	return v[i] < key;
}

int
main(void)
{
	uint64_t v[40];

	T_CHECK(bisect(0, v, 3, is_less) == 0);
	for (size_t n = 1; n <= 40; n++) {
		for (size_t i = 0; i < n; i++)
			v[i] = 10 + i / 3 * 2;
		for (uint64_t key = 8; key < 40; key++) {
			size_t want = 0;
			while (want < n && v[want] < key)
				want++;
			T_CHECK(bisect(n, v, key, is_less) == want);
		}
	}
	T_CHECK(bisect(40, v, UINT64_MAX, is_less) == 40);
	return t_done();
}
