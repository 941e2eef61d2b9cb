/* accepting.c: accepts connections, and leaves the listener alone while there is no descriptor for
 * another one (accepting.h).  The master server with its uploads, the nodes of dolly and
 * the server of dsync call this, each in the thread that has the listener. */
#include "common/net/accepting.h"

#include <errno.h>
#include <stdbool.h>

#include "common/base/clock.h"

int
accepting_fd(const struct accepting *a)
{
	return clock_us() < a->rests_until_us ? -1 : a->listener;
}

/* Did accept(2) fail for want of a descriptor or of memory?  The connection then stays in the
 * listener's queue. */
static bool
is_want(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

int
accepting_next(struct accepting *a, void *from, socklen_t *len)
{
	int fd = accept4(a->listener, from, len, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0 && is_want(errno))
		a->rests_until_us = clock_us() + ACCEPTING_REST_US;
	return fd;
}
