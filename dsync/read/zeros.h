/* zeros.h: is all of this zeros? */
#ifndef DSYNC_READ_ZEROS_H
#define DSYNC_READ_ZEROS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* n is 1 or more.  Each byte is compared with the one before it, by the fastest code that the
 * system has. */
static inline bool
zeros_only(const uint8_t *p, size_t n)
{
	return p[0] == 0 && memcmp(p, p + 1, n - 1) == 0;
}

#endif /* DSYNC_READ_ZEROS_H */
