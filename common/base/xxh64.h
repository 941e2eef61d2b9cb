/* xxh64.h: XXH64, a hash of 64 bits that is computed nearly as fast as memory is read.  It
 * finds what chance has changed; who wants two contents of one hash can make them. */
#ifndef COMMON_BASE_XXH64_H
#define COMMON_BASE_XXH64_H

#include <stddef.h>
#include <stdint.h>

/* The hash of data[n], with seed 0. */
uint64_t xxh64(const void *data, size_t n);

#endif /* COMMON_BASE_XXH64_H */
