/* rangeset.h: a set of numbers kept as sorted, disjoint, non-touching ranges.
 *
 * A set is built, sealed, and then read.  While it is built, ranges may be added in any
 * order and may overlap; rangeset_seal() sorts and merges them once, so n additions and
 * their seal cost O(n log n), and O(n) when they came in order.  A set that nothing was
 * added to is sealed.  Readers take a const set that is sealed (asserted) and change
 * nothing, so several threads may read one set at once.  What changes a sealed set other
 * than by rangeset_add() and rangeset_add_shifted() leaves it sealed.
 *
 * A range takes 16 bytes.  Ranges must not reach beyond UINT64_MAX (asserted: ranges from
 * outside are to be checked with range_within() first).
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
	bool open;     /* ranges were added since it was sealed */
	bool unsorted; /* they were not added in order: the seal sorts them */
};

void rangeset_init(struct rangeset *);
void rangeset_free(struct rangeset *); /* leaves an empty set */
int rangeset_add(struct rangeset *, struct range, struct err *); /* ERR_NOMEM */
/* Sort and merge what was added, before the set is read. */
void rangeset_seal(struct rangeset *);

/* Readers. */

/* The number of ranges, the i-th range, the sum of all lengths. */
size_t rangeset_count(const struct rangeset *);
struct range rangeset_get(const struct rangeset *, size_t i);
uint64_t rangeset_total(const struct rangeset *);
bool rangeset_contains(const struct rangeset *, uint64_t x);
/* Does the set have any number of the range? */
bool rangeset_touches(const struct rangeset *, struct range);
/* How many numbers of the range does the set have? */
uint64_t rangeset_total_in(const struct rangeset *, struct range);
/* Index of the first range that ends after x; rangeset_count() if none. */
size_t rangeset_find(const struct rangeset *, uint64_t x);

/* What changes a set.  `to`, a and s may be open; `from` and b are only read. */

/* Add all ranges of `from`, each moved up by `by`, to the open set `to`.  ERR_NOMEM. */
int rangeset_add_shifted(
    struct rangeset *to, const struct rangeset *from, uint64_t by, struct err *);
/* a = a + b; a = a - b; a = a & b: O(n + m) when a is sealed.  ERR_NOMEM. */
int rangeset_union(struct rangeset *a, const struct rangeset *b, struct err *);
int rangeset_minus(struct rangeset *a, const struct rangeset *b, struct err *);
int rangeset_intersect(struct rangeset *a, const struct rangeset *b, struct err *);
/* Keep what lies in [lo, hi). */
void rangeset_clip(struct rangeset *, uint64_t lo, uint64_t hi);
/* The set becomes the numbers of [lo, hi) that were not in it.  ERR_NOMEM: there is no memory for
 * one more range. */
int rangeset_invert(struct rangeset *, uint64_t lo, uint64_t hi, struct err *);
/* Drop ranges shorter than min. */
void rangeset_drop_short(struct rangeset *, uint64_t min);

#endif /* COMMON_DISK_RANGESET_H */
