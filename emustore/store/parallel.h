/* parallel.h: many calls that wait (for a server or a disk) at once. */
#ifndef EMUSTORE_STORE_PARALLEL_H
#define EMUSTORE_STORE_PARALLEL_H

#include <stddef.h>

#include "common/base/err.h"

/* Call fn for 0..n-1, in up to `threads` threads, the calling one included.  After the
 * first failure no further calls begin, and its error is returned: 0, or -1. */
int parallel_do(size_t n, unsigned threads,
    int (*fn)(void *arg, size_t i, struct err *), void *arg, struct err *);

#endif /* EMUSTORE_STORE_PARALLEL_H */
