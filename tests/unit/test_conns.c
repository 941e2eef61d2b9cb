/* Connections to the master when fewer files may be open than before: silent ones are closed, and
 * another one is accepted. */
#include <arpa/inet.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "mfrisbeed/master/conns.h"
#include "tests/t.h"

enum { CLIENTS = 100, FEWER = 60, TURN_MS = 10, LIMIT_US = 60000000 };

static int clients[CLIENTS + 1];

static void
call(const struct conns *x, int client)
{
	const struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_port = htons(conns_port(x)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	T_CHECK(connect(client, (const struct sockaddr *)&at, sizeof at) == 0);
}

/* How many of the clients have an open connection. */
static unsigned
are_open(void)
{
	unsigned n = 0;
	char c;

	for (unsigned i = 0; i <= CLIENTS; i++)
		n += recv(clients[i], &c, 1, MSG_DONTWAIT) < 0;
	return n;
}

int
main(void)
{
	static const uint8_t here[4] = { 127, 0, 0, 1 };
	static const struct answerer nobody_asks;
	struct rlimit limit, few;
	struct loop l;
	struct conns *x;
	struct err e;

	T_CHECK(loop_open(&l, &e) == 0);
	T_CHECK(conns_new(&x, &l, here, 0, &nobody_asks, &e) == 0);
	for (unsigned i = 0; i <= CLIENTS; i++)
		clients[i] = socket(AF_INET, SOCK_STREAM, 0);
	for (unsigned i = 0; i < CLIENTS; i++) {
		call(x, clients[i]);
		loop_once(&l, TURN_MS);
	}
	T_CHECK(are_open() == CLIENTS + 1); /* one has not begun yet */
	T_CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	few = (struct rlimit){ FEWER, limit.rlim_max };
	T_CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
	call(x, clients[CLIENTS]);
	for (uint64_t end = clock_us() + LIMIT_US; are_open() > FEWER / 2 && clock_us() < end;)
		loop_once(&l, TURN_MS);
	T_CHECK(are_open() == FEWER / 2);
	/* The search for leaks at the end opens files. */
	T_CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	conns_free(x);
	loop_close(&l);
	for (unsigned i = 0; i <= CLIENTS; i++)
		close(clients[i]);
	return t_done();
}
