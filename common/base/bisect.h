/* bisect.h: finds where a number belongs in what is sorted, in as few steps as its length
 * has bits.  It is here as a whole so that compilers put the comparison into the loop. */
#ifndef COMMON_BASE_BISECT_H
#define COMMON_BASE_BISECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first of n elements that is not before the key; n: all are.  before() tells it of
 * the i-th element of `in`, and is true of none behind one of which it is false. */
static inline size_t
bisect(size_t n, const void *in, uint64_t key,
    bool (*before)(const void *in, size_t i, uint64_t key))
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (before(in, mid, key))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

#endif /* COMMON_BASE_BISECT_H */
