/* accepting.c: listens, accepts connections, and leaves the listener alone while there
 * is no descriptor for another one (accepting.h).  border.c, the master's uploads and
 * the calibration of dolly call this, each in the thread that has the listener. */
#include "common/net/accepting.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/net/taken.h"

enum {
	BACKLOG = 1024,
	IDLE_S = 10, /* until a side that is silent is asked whether it is there */
	ASK_AGAIN_S = 2, /* between questions to one that has not answered */
};

/* A socket that is bound and listens, or -1 with errno. */
static int
listen_at(const void *at, socklen_t len, bool again)
{
	const struct sockaddr *a = at;
	int fd = socket(a->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;

	if (fd < 0)
		return -1;
	if (again)
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (a->sa_family == AF_INET6) /* of IPv4, there is another listener */
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
	if (bind(fd, a, len) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	int why = errno;
	close(fd);
	errno = why;
	return -1;
}

int
accepting_port(
    struct accepting *x, const uint8_t address[4], uint16_t *port, bool any, struct err *e)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(*port) };
	socklen_t len = sizeof a;
	char what[20];

	memcpy(&a.sin_addr, address, 4);
	x->listener = listen_at(&a, sizeof a, *port != 0);
	if (x->listener < 0 && errno == EADDRINUSE && any) {
		a.sin_port = 0;
		x->listener = listen_at(&a, sizeof a, false);
	}
	snprintf(what, sizeof what, "TCP port %u", *port);
	if (x->listener < 0)
		return taken_say(e, what);
	/* This never fails for a socket that is bound. */
	(void)getsockname(x->listener, (struct sockaddr *)&a, &len);
	*port = ntohs(a.sin_port);
	return 0;
}

int
accepting_at(struct accepting *x, const struct sockaddr *at, socklen_t len, struct err *e)
{
	x->listener = listen_at(at, len, true);
	return x->listener >= 0 ? 0 : taken_say(e, "the port");
}

/* Remove a socket that an earlier process has left; nothing else. */
static void
remove_socket(const char *path)
{
	struct stat st;

	if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode))
		unlink(path);
}

int
accepting_path(struct accepting *x, const char *path, struct err *e)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	x->listener = -1;
	if (strlen(path) >= sizeof a.sun_path)
		return err_set(e, ERR_USAGE, "%s: is too long for a socket", path);
	strcpy(a.sun_path, path);
	remove_socket(path);
	x->listener = listen_at(&a, sizeof a, false);
	if (x->listener < 0 && errno == EADDRINUSE)
		return err_set(e, ERR_IO, "%s: is there, and is no socket", path);
	return x->listener >= 0 ? 0 : err_os(e, "%s", path);
}

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

/* A node that waits for chunks says nothing to its parent, and a reader of a disk may
 * have nothing to read. */
void
accepting_keep(int fd, int silent_ms)
{
	const int on = 1, idle_s = IDLE_S, again_s = ASK_AGAIN_S;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silent_ms, sizeof silent_ms);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &again_s, sizeof again_s);
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
}
