/* parallel.h: many waits at once. */
#ifndef EMUSTORE_STORE_PARALLEL_H
#define EMUSTORE_STORE_PARALLEL_H

#include <stddef.h>

#include "common/base/err.h"

/* Call fn for 0..n-1, in up to this many threads.  The first failure ends all of
 * them and is returned. */
int parallel_do(size_t n, unsigned threads,
    int (*fn)(void *arg, size_t i, struct err *), void *arg, struct err *);

#endif /* EMUSTORE_STORE_PARALLEL_H */
