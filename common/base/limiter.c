/* limiter.c: counts the lines of one kind (limiter.h).  Whoever logs calls this, in any
 * thread. */
#include "common/base/limiter.h"

bool
limiter_may(struct limiter *l, uint64_t now_us, uint64_t span_us, unsigned most,
    unsigned *left_out)
{
	*left_out = 0;
	if (l->n == 0 || now_us - l->since_us >= span_us) {
		*left_out = l->left_out;
		*l = (struct limiter){ .since_us = now_us };
	}
	bool may = l->n < most;
	l->n += may;
	l->left_out += !may;
	return may;
}
