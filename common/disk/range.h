/* range.h: half-open ranges, and arithmetic that cannot overflow.
 *
 * The unit is the user's: sectors of 512 bytes unless a name says bytes.
 */
#ifndef COMMON_DISK_RANGE_H
#define COMMON_DISK_RANGE_H

#include <stdbool.h>
#include <stdint.h>

enum { SECTOR_BYTES = 512 }; /* in images and on the wire, always */

struct range {
	uint64_t off;
	uint64_t len;
};

/* Does [off, off+len) lie inside [0, size)?  Subtracts, never adds. */
static inline bool
range_within(struct range r, uint64_t size)
{
	return r.off <= size && r.len <= size - r.off;
}

/* The number behind the last one of a range; only for ranges that range_within() has accepted. */
static inline uint64_t
range_end(struct range r)
{
	return r.off + r.len;
}

/* The part of r that lies in [lo, hi); len 0 when there is none. */
static inline struct range
range_clip(struct range r, uint64_t lo, uint64_t hi)
{
	uint64_t end = r.len <= UINT64_MAX - r.off ? r.off + r.len : UINT64_MAX;
	uint64_t from = r.off > lo ? r.off : lo, to = end < hi ? end : hi;

	return from < to ? (struct range){ from, to - from } : (struct range){ lo, 0 };
}

#endif /* COMMON_DISK_RANGE_H */
