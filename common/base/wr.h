/* wr.h: bounded writer, the mirror of rd.h.
 *
 * After a put that did not fit, all later puts do nothing; the caller asks wr_ok() once
 * at the end.  wr_len() is how many bytes were written so far.
 */
#ifndef COMMON_BASE_WR_H
#define COMMON_BASE_WR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct wr {
	uint8_t *base;
	size_t cap;
	size_t off; /* off <= cap, always */
	bool failed;
};

/* A writer into base[cap], which stays the caller's. */
static inline struct wr
wr_to(void *base, size_t cap)
{
	return (struct wr){ .base = base, .cap = cap };
}

/* Appends n bytes that the caller fills, and returns where they are.  NULL: there is no
 * room. */
static inline uint8_t *
wr_room(struct wr *w, size_t n)
{
	if (w->failed || n > w->cap - w->off) {
		w->failed = true;
		return NULL;
	}
	uint8_t *p = w->base + w->off;
	w->off += n;
	return p;
}

static inline void
wr_bytes(struct wr *w, const void *src, size_t n)
{
	uint8_t *p = wr_room(w, n);

	if (!w->failed && n != 0)
		memcpy(p, src, n);
}

static inline void
wr_zero(struct wr *w, size_t n)
{
	uint8_t *p = wr_room(w, n);

	if (p != NULL)
		memset(p, 0, n);
}

static inline void
wr_u8(struct wr *w, uint8_t v)
{
	wr_bytes(w, &v, 1);
}

static inline void
wr_le16(struct wr *w, uint16_t v)
{
	uint8_t b[2] = { (uint8_t)v, (uint8_t)(v >> 8) };

	wr_bytes(w, b, sizeof b);
}

static inline void
wr_le32(struct wr *w, uint32_t v)
{
	uint8_t b[4] = { (uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16),
		(uint8_t)(v >> 24) };

	wr_bytes(w, b, sizeof b);
}

static inline void
wr_le64(struct wr *w, uint64_t v)
{
	wr_le32(w, (uint32_t)v);
	wr_le32(w, (uint32_t)(v >> 32));
}

static inline void
wr_be16(struct wr *w, uint16_t v)
{
	wr_u8(w, (uint8_t)(v >> 8));
	wr_u8(w, (uint8_t)v);
}

static inline void
wr_be32(struct wr *w, uint32_t v)
{
	wr_be16(w, (uint16_t)(v >> 16));
	wr_be16(w, (uint16_t)v);
}

static inline size_t
wr_len(const struct wr *w)
{
	return w->off;
}

static inline bool
wr_ok(const struct wr *w)
{
	return !w->failed;
}

#endif /* COMMON_BASE_WR_H */
