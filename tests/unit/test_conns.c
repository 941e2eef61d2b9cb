/* Connections to the master when fewer files may be open than before: silent ones are
 * closed, and poll(2) does not fail. */
#include <arpa/inet.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mfrisbeed/master/conns.h"
#include "tests/t.h"

enum { CLIENTS = 100, FEWER = 60 };

static int
listen_here(struct sockaddr_in *at)
{
	socklen_t len = sizeof *at;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	*at = (struct sockaddr_in){ .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	T_CHECK(bind(fd, (struct sockaddr *)at, len) == 0);
	T_CHECK(listen(fd, CLIENTS) == 0);
	T_CHECK(getsockname(fd, (struct sockaddr *)at, &len) == 0);
	return fd;
}

static unsigned
turn(struct conns *x)
{
	static const struct answerer nobody_asks;
	static struct pollfd fds[CONNS_MAX + 1];
	unsigned n = conns_poll(x, fds);

	T_CHECK(poll(fds, n, 1000) >= 0);
	conns_serve(x, &nobody_asks, fds, false);
	return n;
}

int
main(void)
{
	struct sockaddr_in at;
	struct rlimit limit, few;
	struct conns *x;
	struct err e;
	int listener = listen_here(&at), clients[CLIENTS];

	T_CHECK(conns_new(&x, listener, &e) == 0);
	for (unsigned i = 0; i < CLIENTS; i++) {
		clients[i] = socket(AF_INET, SOCK_STREAM, 0);
		T_CHECK(connect(clients[i], (struct sockaddr *)&at, sizeof at) == 0);
	}
	while (turn(x) < CLIENTS + 1)
		;
	T_CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	few = (struct rlimit){ FEWER, limit.rlim_max };
	T_CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
	T_CHECK(turn(x) == FEWER / 2 + 1);
	/* The search for leaks at the end opens files. */
	T_CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	conns_free(x);
	for (unsigned i = 0; i < CLIENTS; i++)
		close(clients[i]);
	return t_done();
}
