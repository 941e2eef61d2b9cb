/* Arrays that grow: every element stays what it was; a size that cannot be is refused.
 */
#include <stdint.h>
#include <stdlib.h>

#include "common/base/grow.h"
#include "tests/t.h"

struct pair {
	uint64_t a, b;
};

static void
test_growing(void)
{
	struct pair *v = NULL;
	size_t cap = 0, n = 0, bad = 0;
	struct err e;

	for (; n < 5000; n++) {
		if (grow_array(&v, &cap, n, sizeof *v, "pairs", &e) != 0)
			break;
		v[n] = (struct pair){ n, ~(uint64_t)n };
	}
	for (size_t i = 0; i < n; i++)
		bad += v[i].a != i || v[i].b != ~(uint64_t)i;
	T_CHECK(n == 5000);
	T_CHECK(bad == 0);
	T_CHECK(cap >= n);
	T_CHECK(cap < 2 * n);
	free(v);
}

static void
test_too_large(void)
{
	struct pair one = { 1, 2 }, *v = &one;
	size_t cap = SIZE_MAX / sizeof *v;
	struct err e = { 0 };

	T_CHECK(grow_array(&v, &cap, cap, sizeof *v, "pairs", &e) == -1);
	T_CHECK(e.kind == ERR_NOMEM);
	T_CHECK(v == &one);
	T_CHECK(cap == SIZE_MAX / sizeof *v);
}

int
main(void)
{
	test_growing();
	test_too_large();
	return t_done();
}
