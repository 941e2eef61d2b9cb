/* rd.h: a bounded reader for bytes from elsewhere.
 *
 * After a read that went beyond the end, it and every later one return 0.  A decoder reads
 * all its fields in a straight line and asks rd_ok() once, before it trusts any of them.  A
 * reader never allocates and never moves backwards.  The bytes stay the caller's, and must
 * outlive the reader. */
#ifndef COMMON_BASE_RD_H
#define COMMON_BASE_RD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct rd {
	const uint8_t *base;
	size_t len;
	size_t off; /* off <= len, always */
	bool failed;
};

/* A reader of base[len]. */
static inline struct rd
rd_from(const void *base, size_t len)
{
	/* NULL is what rd_bytes() returns for failure, and arithmetic on it is undefined,
	 * so an empty string takes its place. */
	return (
	    struct rd){ .base = base != NULL ? base : (const void *)"", .len = len };
}

/* How many bytes have not been read; 0 after a failure. */
static inline size_t
rd_left(const struct rd *r)
{
	return r->failed ? 0 : r->len - r->off;
}

/* Reads n bytes in place: they belong to the owner of the reader's bytes.  NULL: fewer are
 * left, and r has failed. */
static inline const void *
rd_bytes(struct rd *r, size_t n)
{
	if (r->failed || n > r->len - r->off) {
		r->failed = true;
		return NULL;
	}
	const void *p = r->base + r->off;
	r->off += n;
	return p;
}

static inline void
rd_skip(struct rd *r, size_t n)
{
	(void)rd_bytes(r, n);
}

/* Copy n bytes to dst, or zeros on failure. */
static inline void
rd_copy(struct rd *r, void *dst, size_t n)
{
	const void *p = rd_bytes(r, n);

	if (p != NULL)
		memcpy(dst, p, n);
	else
		memset(dst, 0, n);
}

static inline uint8_t
rd_u8(struct rd *r)
{
	const uint8_t *p = rd_bytes(r, 1);

	return p != NULL ? p[0] : 0;
}

static inline uint16_t
rd_le16(struct rd *r)
{
	const uint8_t *p = rd_bytes(r, 2);

	return p != NULL ? (uint16_t)(p[0] | p[1] << 8) : 0;
}

static inline uint32_t
rd_le32(struct rd *r)
{
	const uint8_t *p = rd_bytes(r, 4);

	if (p == NULL)
		return 0;
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
	       (uint32_t)p[3] << 24;
}

static inline uint64_t
rd_le64(struct rd *r)
{
	uint64_t lo = rd_le32(r);

	return lo | (uint64_t)rd_le32(r) << 32;
}

static inline uint16_t
rd_be16(struct rd *r)
{
	const uint8_t *p = rd_bytes(r, 2);

	return p != NULL ? (uint16_t)(p[0] << 8 | p[1]) : 0;
}

static inline uint32_t
rd_be32(struct rd *r)
{
	const uint8_t *p = rd_bytes(r, 4);

	if (p == NULL)
		return 0;
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 |
	       (uint32_t)p[3];
}

static inline uint64_t
rd_be64(struct rd *r)
{
	uint64_t hi = rd_be32(r);

	return hi << 32 | rd_be32(r);
}

/* A reader of the next n bytes alone: what reads a nested record cannot leave the record. */
static inline struct rd
rd_sub(struct rd *r, size_t n)
{
	const void *p = rd_bytes(r, n);
	struct rd sub = rd_from(p, p != NULL ? n : 0);

	sub.failed = p == NULL;
	return sub;
}

/* Can n records of `each` bytes still be here?  The product cannot overflow. */
static inline bool
rd_can_hold(const struct rd *r, uint64_t n, size_t each)
{
	return each != 0 && n <= rd_left(r) / each;
}

/* Have all reads so far been within the bytes? */
static inline bool
rd_ok(const struct rd *r)
{
	return !r->failed;
}

/* rd_ok(), and no byte is left. */
static inline bool
rd_done(const struct rd *r)
{
	return rd_ok(r) && r->off == r->len;
}

#endif /* COMMON_BASE_RD_H */
