/* grow.h: arrays that grow by one element at a time. */
#ifndef COMMON_BASE_GROW_H
#define COMMON_BASE_GROW_H

#include <stddef.h>

#include "common/base/err.h"

/* Make room for one more element in an array that has room for *cap elements of `each`
 * bytes, n of which are used.  array: the address of the pointer to the array; the pointer
 * may change.  ERR_NOMEM names `what`; the array is unchanged then. */
int grow_array(
    void *array, size_t *cap, size_t n, size_t each, const char *what, struct err *);

#endif /* COMMON_BASE_GROW_H */
