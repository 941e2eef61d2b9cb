/* zeros.h: tells whether bytes are all zeros. */
#ifndef DSYNC_READ_ZEROS_H
#define DSYNC_READ_ZEROS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Whether the n bytes (1 or more) are all zeros.  Each byte is compared with the byte before it,
 * by the system's memcmp(). */
static inline bool
zeros_only(const uint8_t *p, size_t n)
{
	return p[0] == 0 && memcmp(p, p + 1, n - 1) == 0;
}

#endif /* DSYNC_READ_ZEROS_H */
