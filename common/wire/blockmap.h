/* blockmap.h: a set of blocks of one chunk, with a bit for each block.  Block numbers are 0 to
 * WIRE_CHUNK_BLOCKS - 1. */
#ifndef COMMON_WIRE_BLOCKMAP_H
#define COMMON_WIRE_BLOCKMAP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/rd.h"
#include "common/base/wr.h"
#include "common/wire/wire.h"

enum { BLOCKMAP_WORDS = WIRE_CHUNK_BLOCKS / 64 };

struct blockmap {
	uint64_t w[BLOCKMAP_WORDS]; /* block b: bit b % 64 of word b / 64 */
};

/* Read the form on the wire: block b is bit b % 8 of byte b / 8. */
static inline struct blockmap
blockmap_get(const uint8_t bytes[WIRE_MAP_BYTES])
{
	struct blockmap m;
	struct rd r = rd_from(bytes, WIRE_MAP_BYTES);

	for (unsigned i = 0; i < BLOCKMAP_WORDS; i++)
		m.w[i] = rd_le64(&r);
	return m;
}

/* Write the form on the wire. */
static inline void
blockmap_put(const struct blockmap *m, uint8_t bytes[WIRE_MAP_BYTES])
{
	struct wr w = wr_to(bytes, WIRE_MAP_BYTES);

	for (unsigned i = 0; i < BLOCKMAP_WORDS; i++)
		wr_le64(&w, m->w[i]);
}

static inline bool
blockmap_test(const struct blockmap *m, uint32_t b)
{
	return m->w[b / 64] >> b % 64 & 1;
}

static inline void
blockmap_set(struct blockmap *m, uint32_t b)
{
	m->w[b / 64] |= UINT64_C(1) << b % 64;
}

static inline void
blockmap_clear(struct blockmap *m, uint32_t b)
{
	m->w[b / 64] &= ~(UINT64_C(1) << b % 64);
}

/* Of the blocks [first, end), the bits of those in the word of block `first`; *n: how many these
 * are.  first < end. */
static inline uint64_t
blockmap_bits(uint32_t first, uint32_t end, uint32_t *n)
{
	*n = 64 - first % 64 < end - first ? 64 - first % 64 : end - first;
	return (*n == 64 ? ~UINT64_C(0) : (UINT64_C(1) << *n) - 1) << first % 64;
}

/* The set of blocks [first, first + count), which must lie within the chunk. */
static inline struct blockmap
blockmap_range(uint32_t first, uint32_t count)
{
	struct blockmap m = { { 0 } };

	for (uint32_t n, b = first; b < first + count; b += n)
		m.w[b / 64] |= blockmap_bits(b, first + count, &n);
	return m;
}

/* Take the blocks [first, first + count), which must lie within the chunk, out of the set. */
static inline void
blockmap_remove(struct blockmap *m, uint32_t first, uint32_t count)
{
	for (uint32_t n, b = first; b < first + count; b += n)
		m->w[b / 64] &= ~blockmap_bits(b, first + count, &n);
}

/* The blocks that are in both sets. */
static inline struct blockmap
blockmap_and(struct blockmap a, const struct blockmap *b)
{
	for (unsigned i = 0; i < BLOCKMAP_WORDS; i++)
		a.w[i] &= b->w[i];
	return a;
}

/* The blocks of a that are not in b. */
static inline struct blockmap
blockmap_minus(struct blockmap a, const struct blockmap *b)
{
	for (unsigned i = 0; i < BLOCKMAP_WORDS; i++)
		a.w[i] &= ~b->w[i];
	return a;
}

/* Add the blocks of b to a. */
static inline void
blockmap_add(struct blockmap *a, const struct blockmap *b)
{
	for (unsigned i = 0; i < BLOCKMAP_WORDS; i++)
		a->w[i] |= b->w[i];
}

static inline uint32_t
blockmap_count(const struct blockmap *m)
{
	uint32_t n = 0;

	for (unsigned i = 0; i < BLOCKMAP_WORDS; i++)
		n += (uint32_t)__builtin_popcountll(m->w[i]);
	return n;
}

static inline bool
blockmap_empty(const struct blockmap *m)
{
	uint64_t any = 0;

	for (unsigned i = 0; i < BLOCKMAP_WORDS; i++)
		any |= m->w[i];
	return any == 0;
}

/* The first block >= from that is in the set; WIRE_CHUNK_BLOCKS when none is
 * (also when from is WIRE_CHUNK_BLOCKS). */
static inline uint32_t
blockmap_next(const struct blockmap *m, uint32_t from)
{
	for (uint32_t i = from / 64; i < BLOCKMAP_WORDS; i++) {
		uint64_t w = m->w[i];
		if (i == from / 64)
			w &= ~UINT64_C(0) << from % 64;
		if (w != 0)
			return i * 64 + (uint32_t)__builtin_ctzll(w);
	}
	return WIRE_CHUNK_BLOCKS;
}

/* Are the first n blocks all in the set?  The last of them are looked at first, since most sets grow
 * from the first block on. */
static inline bool
blockmap_begins_with(const struct blockmap *m, uint32_t n)
{
	uint32_t i = n / 64;

	if (n % 64 != 0 && ~m->w[i] << (64 - n % 64) != 0)
		return false;
	while (i > 0 && m->w[i - 1] == ~UINT64_C(0))
		i--;
	return i == 0;
}

/* How many blocks from `from` on are in the set without a gap, at most max. */
static inline uint32_t
blockmap_run(const struct blockmap *m, uint32_t from, uint32_t max)
{
	uint32_t n = 0;

	while (n < max && from + n < WIRE_CHUNK_BLOCKS && blockmap_test(m, from + n))
		n++;
	return n;
}

/* Find the next run of blocks that are in the set, from block *b on, and set *b to its
 * first block.  Returns its length; 0: there is none any more. */
static inline uint32_t
blockmap_next_run(const struct blockmap *m, uint32_t *b)
{
	*b = blockmap_next(m, *b);
	return blockmap_run(m, *b, WIRE_CHUNK_BLOCKS - *b);
}

/* The first n blocks of the set, or all if there are fewer. */
static inline struct blockmap
blockmap_first(const struct blockmap *m, uint64_t n)
{
	uint32_t end = blockmap_next(m, 0);

	for (uint64_t i = 0; i < n && end < WIRE_CHUNK_BLOCKS; i++)
		end = blockmap_next(m, end + 1);
	struct blockmap before = blockmap_range(0, end);
	return blockmap_and(*m, &before);
}

#endif /* COMMON_WIRE_BLOCKMAP_H */
