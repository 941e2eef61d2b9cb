/* dial.c: connects to `dsync serve`.  call.c calls dial(), in the thread of the connection. */
#include "dsync/talk/dial.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"

enum { WAKE_MS = 200, CONNECT_US = 20000000, SHAKE_US = 20000000 };

/* Wait until the socket is connected.  Returns 0, or the errno of the failure; EINTR: the run is
 * to end. */
static int
await(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	uint64_t end = clock_us() + CONNECT_US;
	int why = 0, n = 0;
	socklen_t len = sizeof why;

	while (n <= 0 && clock_us() < end) {
		if (cancel_signal() != 0)
			return EINTR;
		n = poll(&p, 1, WAKE_MS);
		if (n < 0 && errno != EINTR)
			return errno;
	}
	if (n <= 0)
		return ETIMEDOUT;
	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &len) == 0 ? why : errno;
}

/* Connect to one address.  Returns the socket, or -1 with errno. */
static int
connect_to(const struct addrinfo *a)
{
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	talk_notice_silence(fd);
	int why = connect(fd, a->ai_addr, a->ai_addrlen) == 0 ? 0 : errno;
	if (why == EINPROGRESS)
		why = await(fd);
	if (why == 0)
		return fd;
	close(fd);
	errno = why;
	return -1;
}

/* Connect to the first address that answers. */
static int
connect_any(const char *host, const char *port, int *fd, struct err *e)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV }, *all;
	int rc = getaddrinfo(host, port, &hints, &all);

	if (rc != 0)
		return err_set(e, ERR_ABSENT, "%s", gai_strerror(rc));
	*fd = -1;
	for (const struct addrinfo *a = all; a != NULL && *fd < 0; a = a->ai_next) {
		*fd = connect_to(a);
		if (*fd < 0 && cancel_signal() != 0)
			break;
	}
	rc = *fd >= 0 ? 0 : err_os(e, "cannot connect to TCP port %s", port);
	freeaddrinfo(all);
	return rc != 0 && cancel_signal() != 0 ? cancel_check(e) : rc;
}

int
dial(struct talk **out, const char *host, const char *port, struct tls *key, struct err *e)
{
	struct tls_wire *wire;
	int fd;

	*out = NULL;
	if (connect_any(host, port, &fd, e) != 0)
		return -1;
	wire = tls_wire_new(key, fd, true);
	if (wire == NULL) {
		close(fd);
		return err_nomem(e, "a connection");
	}
	if (talk_new(out, fd, wire, e) != 0)
		return -1;
	if (talk_shake(*out, SHAKE_US, e) == 0)
		return 0;
	talk_free(*out);
	*out = NULL;
	return -1;
}
