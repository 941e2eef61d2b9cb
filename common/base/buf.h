/* buf.h: a buffer that grows, for what is written before its size is known.
 *
 * After a put for which there was no memory, all later puts do nothing; the caller asks
 * buf_ok() once at the end.  The numbers of variable length that recipes are made of are
 * written here, too: base 128, low digits first, and the top bit says that more digits
 * follow. */
#ifndef COMMON_BASE_BUF_H
#define COMMON_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/rd.h"

struct buf {
	uint8_t *base; /* owned; buf_free() */
	size_t len, cap;
	bool failed;
};

/* Frees the bytes.  The buffer is empty then, and can be filled again. */
static inline void
buf_free(struct buf *b)
{
	free(b->base);
	*b = (struct buf){ 0 };
}

/* Was there memory for all puts?  False: the bytes are incomplete. */
static inline bool
buf_ok(const struct buf *b)
{
	return !b->failed;
}

/* Appends n bytes that the caller fills, and returns where they are, until the next put.
 * NULL: there is no memory. */
static inline uint8_t *
buf_room(struct buf *b, size_t n)
{
	if (!b->failed && n > b->cap - b->len) {
		size_t cap = b->cap + n > 2 * b->cap ? b->cap + n : 2 * b->cap;
		uint8_t *base = realloc(b->base, cap);
		if (base == NULL)
			b->failed = true;
		else
			b->base = base, b->cap = cap;
	}
	if (b->failed)
		return NULL;
	b->len += n;
	return b->base + b->len - n;
}

/* Appends a copy of src[n]. */
static inline void
buf_bytes(struct buf *b, const void *src, size_t n)
{
	uint8_t *p = buf_room(b, n);

	if (p != NULL && n > 0)
		memcpy(p, src, n);
}

/* Appends a number in little-endian order, as the two functions below do. */
static inline void
buf_le16(struct buf *b, uint16_t v)
{
	buf_bytes(b, (uint8_t[]){ (uint8_t)v, (uint8_t)(v >> 8) }, 2);
}

static inline void
buf_le32(struct buf *b, uint32_t v)
{
	buf_le16(b, (uint16_t)v);
	buf_le16(b, (uint16_t)(v >> 16));
}

static inline void
buf_le64(struct buf *b, uint64_t v)
{
	buf_le32(b, (uint32_t)v);
	buf_le32(b, (uint32_t)(v >> 32));
}

/* Appends a number in base 128, in 1 to 10 bytes. */
static inline void
buf_number(struct buf *b, uint64_t v)
{
	uint8_t bytes[10];
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		bytes[n++] = (uint8_t)(v | 0x80);
	bytes[n++] = (uint8_t)v;
	buf_bytes(b, bytes, n);
}

/* Reads a number that buf_number() wrote.  A number of more than 64 bits is a failure. */
static inline uint64_t
rd_number(struct rd *r)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte = rd_u8(r);
		if (shift == 63 && byte > 1)
			break;
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return v;
	}
	r->failed = true;
	return 0;
}

#endif /* COMMON_BASE_BUF_H */
