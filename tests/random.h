/* random.h: the random numbers of all tests, which are the same in every run: SplitMix64 of Steele,
 * Lea and Flood ("Fast Splittable Pseudorandom Number Generators", 2014).  The packets of the
 * simulator, and so its hashes, follow from these numbers. */
#ifndef TESTS_RANDOM_H
#define TESTS_RANDOM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The next number, of all 64 bits.  A state begins as any number, the seed; each has its own row of
 * numbers. */
static inline uint64_t
random_next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* The next number x, 0 <= x < 1. */
static inline double
random_fraction(uint64_t *state)
{
	return (double)(random_next(state) >> 11) / (double)(UINT64_C(1) << 53);
}

/* The state of the functions below, for tests of one thread that need one row only.  It may be set to
 * begin a row. */
static uint64_t draw_seed = 1;

/* The next number below n, which is at least 1. */
static inline uint64_t
draw(uint64_t n)
{
	return random_next(&draw_seed) % n;
}

/* Fills n bytes with noise. */
static inline void
draw_bytes(void *to, size_t n)
{
	for (size_t i = 0; i < n; i += sizeof(uint64_t)) {
		uint64_t x = random_next(&draw_seed);
		memcpy((uint8_t *)to + i, &x, n - i < sizeof x ? n - i : sizeof x);
	}
}

#endif /* TESTS_RANDOM_H */
