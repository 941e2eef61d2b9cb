/* random_bytes.c: asks the kernel for random bytes (random_bytes.h); any thread calls
 * this. */
#include "common/base/random_bytes.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

void
random_bytes(void *to, size_t n)
{
	for (uint8_t *p = to; n > 0;) {
		ssize_t got = getrandom(p, n, 0);
		if (got < 0 && errno != EINTR)
			abort(); /* rather than go on with numbers that can be guessed */
		p += got > 0 ? got : 0;
		n -= got > 0 ? (size_t)got : 0;
	}
}
