/* test_limiter.c: of lines of one kind, some are written, and the others are counted
 * once. */
#include "common/base/limiter.h"

#include "tests/t.h"

enum { SPAN_US = 1000000, MOST = 3 };

/* How many of n lines may be written at that time; the first tells *left_out. */
static unsigned
written(struct limiter *l, uint64_t now_us, unsigned n, unsigned most, unsigned *left_out)
{
	unsigned may = 0, told;

	for (unsigned i = 0; i < n; i++) {
		may += limiter_may(l, now_us, SPAN_US, most, &told);
		if (i == 0)
			*left_out = told;
		else
			T_CHECK(told == 0);
	}
	return may;
}

int
main(void)
{
	struct limiter l = { 0 };
	unsigned left_out;

	/* The clock may be near its beginning. */
	T_CHECK(written(&l, 5, 2, MOST, &left_out) == 2 && left_out == 0);
	T_CHECK(written(&l, 5 + SPAN_US - 1, 4, MOST, &left_out) == 1 && left_out == 0);
	T_CHECK(written(&l, 5 + SPAN_US, 1, MOST, &left_out) == 1 && left_out == 3);
	T_CHECK(written(&l, 5 + 9 * SPAN_US, 10, MOST, &left_out) == MOST && left_out == 0);
	T_CHECK(written(&l, 5 + 90 * SPAN_US, 1, MOST, &left_out) == 1 && left_out == 7);
	l = (struct limiter){ 0 };
	T_CHECK(written(&l, 0, 5, 1, &left_out) == 1 && left_out == 0);
	T_CHECK(written(&l, SPAN_US, 1, 1, &left_out) == 1 && left_out == 4);
	T_CHECK(written(&l, 2 * SPAN_US, 1, 1, &left_out) == 1 && left_out == 0);
	return t_done();
}
