/* test_random_bytes.c: random bytes fill all that is asked for, more than one call
 * gives, too. */
#include <stdint.h>
#include <string.h>

#include "common/base/random_bytes.h"
#include "tests/t.h"

enum { MANY = 1 << 20 };

int
main(void)
{
	static uint8_t one[MANY + 1], other[MANY + 1];
	unsigned seen[256] = { 0 }, values = 0;

	random_bytes(one, 0);
	T_CHECK(one[0] == 0);
	random_bytes(one, MANY);
	random_bytes(other, MANY);
	T_CHECK(one[MANY] == 0 && other[MANY] == 0);
	T_CHECK(memcmp(one, other, MANY) != 0);
	T_CHECK(memcmp(one + MANY - 32, other + MANY - 32, 32) != 0);
	for (unsigned i = 0; i < MANY; i++)
		values += seen[one[i]]++ == 0;
	T_CHECK(values == 256);
	return t_done();
}
