/* rangesort.h: sort ranges by where they start, in place.
 *
 * qsort(3) may take another 16 bytes a range; with ten million of them that is
 * more than a whole imaging run is allowed.
 */
#ifndef COMMON_DISK_RANGESORT_H
#define COMMON_DISK_RANGESORT_H

#include <stddef.h>

#include "common/disk/range.h"

/* By off; ranges with the same off end up in any order.  O(n log n) whatever
 * the input, no memory of its own.  Returns the comparisons made, for tests. */
size_t rangesort(struct range *, size_t n);

#endif /* COMMON_DISK_RANGESORT_H */
