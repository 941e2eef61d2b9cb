/* zero.h: whether bytes are all zero. */
#ifndef COMMON_BASE_ZERO_H
#define COMMON_BASE_ZERO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Are these n bytes all zero?  True for no bytes.  Each byte is compared with the one
 * before it, by the C library's vectors. */
static inline bool
is_zero(const void *bytes, size_t n)
{
	const uint8_t *p = bytes;

	return n == 0 || (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0);
}

#endif /* COMMON_BASE_ZERO_H */
