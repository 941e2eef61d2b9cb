/* chunkmap.h: a set of chunks of one image, as bits. */
#ifndef DOLLY_ENGINE_CHUNKMAP_H
#define DOLLY_ENGINE_CHUNKMAP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CHUNKMAP_NONE UINT32_MAX

/* A set with all members zero is empty and belongs to an image of no chunks. */
struct chunkmap {
	uint64_t *words; /* one bit a chunk; owned, chunkmap_free() releases it */
	uint32_t n;      /* chunks of the image */
	uint32_t count;  /* chunks in the set */
};

/* Makes an empty set for an image of n chunks.  False: no memory. */
static inline bool
chunkmap_make(struct chunkmap *m, uint32_t n)
{
	*m = (struct chunkmap){ calloc((size_t)n / 64 + 1, 8), n, 0 };
	return m->words != NULL;
}

/* Releases the set.  A set of all zeros is allowed. */
static inline void
chunkmap_free(struct chunkmap *m)
{
	free(m->words);
	*m = (struct chunkmap){ 0 };
}

/* Is the chunk in the set?  False for numbers beyond the image. */
static inline bool
chunkmap_has(const struct chunkmap *m, uint32_t c)
{
	return c < m->n && (m->words[c / 64] >> c % 64 & 1) != 0;
}

/* Adds the chunk; numbers beyond the image are ignored. */
static inline void
chunkmap_add(struct chunkmap *m, uint32_t c)
{
	if (c >= m->n || chunkmap_has(m, c))
		return;
	m->words[c / 64] |= 1ull << c % 64;
	m->count++;
}

/* Removes the chunk, and returns whether it was in the set. */
static inline bool
chunkmap_take(struct chunkmap *m, uint32_t c)
{
	if (!chunkmap_has(m, c))
		return false;
	m->words[c / 64] &= ~(1ull << c % 64);
	m->count--;
	return true;
}

/* Removes all chunks. */
static inline void
chunkmap_clear(struct chunkmap *m)
{
	if (m->words != NULL)
		memset(m->words, 0, ((size_t)m->n / 64 + 1) * 8);
	m->count = 0;
}

/* The lowest chunk of the set that is not below `from`, or CHUNKMAP_NONE. */
static inline uint32_t
chunkmap_next(const struct chunkmap *m, uint32_t from)
{
	if (m->count == 0 || from >= m->n)
		return CHUNKMAP_NONE;
	uint32_t w = from / 64;
	uint64_t bits = m->words[w] & ~0ull << from % 64;

	while (bits == 0 && w < (m->n - 1) / 64)
		bits = m->words[++w];
	return bits == 0 ? CHUNKMAP_NONE : w * 64 + (uint32_t)__builtin_ctzll(bits);
}

#endif /* DOLLY_ENGINE_CHUNKMAP_H */
