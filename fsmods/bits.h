/* bits.h: bitmaps of clusters, for the modules of fsmods. Bit 0 is the lowest bit of the
 * first byte. The functions check no bounds: the caller's map has all the bits that it
 * names. */
#ifndef FSMODS_BITS_H
#define FSMODS_BITS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Is bit i set? */
static inline bool
bit_get(const uint8_t *map, uint64_t i)
{
	return map[i / 8] >> i % 8 & 1;
}

/* Set bit i. */
static inline void
bit_set(uint8_t *map, uint64_t i)
{
	map[i / 8] |= (uint8_t)(1u << i % 8);
}

/* Set the bits [from, to); nothing happens when `from` is not below `to`. */
static inline void
bits_set(uint8_t *map, uint64_t from, uint64_t to)
{
	for (; from < to && from % 8 != 0; from++)
		bit_set(map, from);
	if (to - from >= 8) {
		memset(map + from / 8, 0xff, (to - from) / 8);
		from += (to - from) / 8 * 8;
	}
	for (; from < to; from++)
		bit_set(map, from);
}

/* The first bit in [from, to) that is `value`; `to` when there is none. */
static inline uint64_t
bits_find(const uint8_t *map, uint64_t from, uint64_t to, bool value)
{
	static const uint8_t clear[8];
	static const uint8_t set[8] = { 255, 255, 255, 255, 255, 255, 255, 255 };
	const uint8_t *other = value ? clear : set;

	while (from < to) {
		if (from % 8 == 0 && to - from >= 64 &&
		    memcmp(map + from / 8, other, 8) == 0)
			from += 64;
		else if (bit_get(map, from) == value)
			return from;
		else
			from++;
	}
	return to;
}

#endif /* FSMODS_BITS_H */
