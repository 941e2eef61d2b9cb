/* grow.h: arrays that grow by one element at a time. */
#ifndef COMMON_BASE_GROW_H
#define COMMON_BASE_GROW_H

#include <stddef.h>

#include "common/base/err.h"

/* Room for one more element in an array of *cap, n of which are used, of `each` bytes.
 * array: the address of its pointer, which may change.  ERR_NOMEM names `what`; then
 * the array is what it was. */
int grow(
    void *array, size_t *cap, size_t n, size_t each, const char *what, struct err *);

#endif /* COMMON_BASE_GROW_H */
