/* sample.h: bytes of several kinds, which are the same in every run. */
#ifndef TESTS_UNIT_SAMPLE_H
#define TESTS_UNIT_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

#include "tests/random.h"

enum { SAMPLE_KINDS = 9 };

/* Byte i of a sample, whose bytes before are at p.  Kinds from 0 on: noise, few letters,
 * steps, repeats from near, zeros, zeros with rare spots, pointers, runs and noise by turns;
 * any other kind: noise and repeats from far by turns. */
static inline uint8_t
sample_byte(const uint8_t *p, size_t i, unsigned kind)
{
	switch (kind) {
	case 0:
		return (uint8_t)draw(256);
	case 1:
		return (uint8_t)('a' + draw(6));
	case 2:
		return (uint8_t)(i / 100);
	case 3:
		return i > 40 && draw(9) != 0 ? p[i - 1 - draw(40)] : (uint8_t)draw(256);
	case 4:
		return 0;
	case 5:
		return draw(3000) == 0;
	case 6:
		return i % 8 < 2 ? (uint8_t)draw(256) : i % 8 < 5 ? 0x7f : 0;
	case 7:
		return i % 5000 < 2500 ? 0x55 : (uint8_t)draw(256);
	default:
		return i >> 12 & 1 ? (uint8_t)draw(256)
		       : i > 4000  ? p[i - 3999 + draw(3)]
		                   : 'x';
	}
}

static inline void
sample_fill(uint8_t *p, size_t n, unsigned kind)
{
	for (size_t i = 0; i < n; i++)
		p[i] = sample_byte(p, i, kind);
}

#endif /* TESTS_UNIT_SAMPLE_H */
