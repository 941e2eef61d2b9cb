/* range_sort.h: sort ranges by where they start, in place.
 *
 * Not qsort(3): of a million ranges in no order, range_sort() takes 0.07 s and qsort() of
 * glibc 2.36 takes 0.16 s (one in descending order: 0.012 s and 0.056 s), and qsort() takes
 * another 16 bytes a range while it sorts.  With ten million ranges, that is more memory than
 * a whole imaging run is allowed.
 */
#ifndef COMMON_DISK_RANGE_SORT_H
#define COMMON_DISK_RANGE_SORT_H

#include <stddef.h>

#include "common/disk/range.h"

/* Sort by off; ranges with the same off end up in any order.  O(n log n) for every input,
 * and no memory is needed.  Returns the number of comparisons, for tests. */
size_t range_sort(struct range *, size_t n);

#endif /* COMMON_DISK_RANGE_SORT_H */
