/* whole.h: writes all bytes, where write(2) may write fewer. */
#ifndef COMMON_BASE_WHOLE_H
#define COMMON_BASE_WHOLE_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

/* Writes bytes[n], from where the descriptor is.  -1: errno says why. */
static inline int
write_whole(int fd, const void *bytes, size_t n)
{
	for (size_t done = 0; done < n;) {
		ssize_t put = write(fd, (const uint8_t *)bytes + done, n - done);
		if (put < 0 && errno != EINTR)
			return -1;
		done += put > 0 ? (size_t)put : 0;
	}
	return 0;
}

#endif /* COMMON_BASE_WHOLE_H */
