/* await.c: waits for one socket.  ask.c and the uploads of mfrisbeed/master call this,
 * each in the thread that has the connection. */
#include "common/net/await.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"

enum { WAKE_MS = 200 }; /* a signal is noticed within this time */

int
await_socket(int fd, short what, uint64_t end_us, const char *late, struct err *e)
{
	struct pollfd p = { .fd = fd, .events = what };

	while (clock_us() < end_us) {
		if (cancel_check(e) != 0)
			return -1;
		int n = poll(&p, 1, WAKE_MS);
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return err_os(e, "waiting");
	}
	return err_set(e, ERR_IO, "%s", late);
}

int
await_connection(int fd, uint64_t end_us, struct err *e)
{
	int why = 0;
	socklen_t len = sizeof why;

	if (await_socket(fd, POLLOUT, end_us, "no answer", e) != 0)
		return -1;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &len) == 0 && why == 0)
		return 0;
	errno = why != 0 ? why : errno;
	return err_os(e, "cannot connect");
}
