/* rangeset.h: a set of numbers kept as sorted, disjoint, non-touching ranges.
 *
 * Ranges may be added in any order and may overlap; the set sorts itself once
 * before it is next looked at, so n additions and one look cost O(n log n).
 * 16 bytes a range.  Ranges must not reach beyond UINT64_MAX (asserted: check
 * what comes from outside with range_within() first).
 */
#ifndef COMMON_DISK_RANGESET_H
#define COMMON_DISK_RANGESET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/range.h"

struct rangeset {
	struct range *r; /* owned */
	size_t n, cap;
	bool unsorted; /* sorting is owed */
};

void rangeset_init(struct rangeset *);
void rangeset_free(struct rangeset *); /* leaves an empty set */
int rangeset_add(struct rangeset *, struct range, struct err *); /* ERR_NOMEM */
/* Sort and merge now.  Everything below does it by itself. */
void rangeset_normalize(struct rangeset *);
/* Number of ranges, the i-th range, the sum of all lengths. */
size_t rangeset_count(struct rangeset *);
struct range rangeset_get(struct rangeset *, size_t i);
uint64_t rangeset_total(struct rangeset *);
bool rangeset_contains(struct rangeset *, uint64_t x);
/* Is there anything of the range in it? */
bool rangeset_touches(struct rangeset *, struct range);
/* How much of it is? */
uint64_t rangeset_total_in(struct rangeset *, struct range);
/* Index of the first range that ends after x; rangeset_count() if none. */
size_t rangeset_find(struct rangeset *, uint64_t x);

/* Add all ranges of `from`, each by so much further on.  ERR_NOMEM. */
int rangeset_add_shifted(
    struct rangeset *to, struct rangeset *from, uint64_t by, struct err *);
/* a = a + b; a = a - b; a = a & b: O(n + m) once sorted.  ERR_NOMEM. */
int rangeset_union(struct rangeset *a, struct rangeset *b, struct err *);
int rangeset_minus(struct rangeset *a, struct rangeset *b, struct err *);
int rangeset_intersect(struct rangeset *a, struct rangeset *b, struct err *);
/* Keep what lies in [lo, hi). */
void rangeset_clip(struct rangeset *, uint64_t lo, uint64_t hi);
/* The set becomes what of [lo, hi) was not in it.  In place: one more range. */
int rangeset_invert(struct rangeset *, uint64_t lo, uint64_t hi, struct err *);
/* Drop ranges shorter than min. */
void rangeset_drop_short(struct rangeset *, uint64_t min);

#endif /* COMMON_DISK_RANGESET_H */
