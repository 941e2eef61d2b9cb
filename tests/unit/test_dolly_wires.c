/* The connections of dolly's engines: many nodes that begin in the same moment, strangers that say
 * nothing, and how a side that is gone is noticed. */
#include "dolly/net/wires.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/t.h"

enum { CROWD = 100, STEPS_MAX = 3000, STEP_MS = 10 };

/* An engine to which a peer has said what it is with its first byte. */
struct side {
	struct wires *wires;
	unsigned accepted, heard, lost;
	struct peer *peers[2 * CROWD];
};

static struct peer *
on_accept(void *engine, const uint8_t address[4])
{
	struct side *s = engine;
	struct peer *p = peer_new(PEER_NEW, address);

	if (p != NULL)
		s->accepted++;
	return p;
}

static size_t
on_room(void *engine, struct peer *p, void **at)
{
	(void)engine;
	(void)p;
	*at = NULL;
	return SIZE_MAX;
}

static void
on_bytes(void *engine, struct peer *p, const void *bytes, size_t n)
{
	struct side *s = engine;

	(void)bytes;
	(void)n;
	if (p->kind != PEER_NEW)
		return;
	p->kind = PEER_NODE;
	s->peers[s->heard++] = p;
}

static bool
on_reads(void *engine, const struct peer *p)
{
	(void)engine;
	(void)p;
	return true;
}

static void
on_closed(void *engine, struct peer *p, const char *why)
{
	struct side *s = engine;

	(void)why;
	s->lost++;
	wires_hang_up(s->wires, p);
	if (p->kind == PEER_NEW)
		peer_free(p);
}

static size_t
on_output(void *engine, struct peer *p, const void **at)
{
	(void)engine;
	(void)p;
	(void)at;
	return 0;
}

static void
on_sent(void *engine, struct peer *p, size_t n)
{
	(void)engine;
	(void)p;
	(void)n;
}

static const struct wires_engine engine = { on_accept, on_room, on_bytes, on_reads, on_closed,
	on_output, on_sent };

static void
open_side(struct side *s)
{
	struct err e;

	*s = (struct side){ 0 };
	if (wires_open(&s->wires, &engine, NULL, 0, true, &e) != 0)
		abort();
	wires_serve(s->wires, s);
}

static void
close_side(struct side *s)
{
	wires_close(s->wires);
	for (unsigned i = 0; i < s->heard; i++)
		peer_free(s->peers[i]);
}

static int
connect_to(const struct side *s)
{
	const struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_port = htons(wires_port(s->wires)),
		.sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)&a, sizeof a) != 0)
		abort();
	return fd;
}

/* All connect before the first of them is accepted; `speaking` of them say what they are. */
static void
crowd(unsigned silent, unsigned speaking)
{
	int fds[CROWD];
	struct side s;

	open_side(&s);
	for (unsigned i = 0; i < silent + speaking; i++)
		fds[i] = connect_to(&s);
	for (unsigned i = silent; i < silent + speaking; i++)
		if (write(fds[i], "x", 1) != 1)
			abort();
	for (unsigned i = 0; i < STEPS_MAX && s.heard < speaking; i++)
		wires_step(s.wires, -1, STEP_MS);
	printf("# of %u connections %u were accepted, %u heard, %u closed\n",
	    silent + speaking, s.accepted, s.heard, s.lost);
	T_CHECK(s.heard == speaking);
	T_CHECK(s.lost <= silent);
	for (unsigned i = 0; i < silent + speaking; i++)
		close(fds[i]);
	close_side(&s);
}

static int
option(int fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof value;

	return getsockopt(fd, level, name, &value, &len) == 0 ? value : -1;
}

/* Both ends of a connection are asked whether they are there.  The end that may send to a child
 * waits for the deadline. */
static void
watched(void)
{
	static const uint8_t here[4] = { 127, 0, 0, 1 };
	struct peer *p = peer_new(PEER_SERVER, here);
	struct side s, from;
	unsigned ends = 0, asked = 0;
	int least = 0, most = 0;
	struct err e;

	open_side(&s);
	open_side(&from);
	wires_deadline(s.wires, 60000000);
	wires_deadline(from.wires, 60000000);
	if (p == NULL || wires_dial(from.wires, p, here, wires_port(s.wires), &e) != 0)
		abort();
	for (unsigned i = 0; i < STEPS_MAX && s.accepted == 0; i++) {
		wires_step(from.wires, -1, STEP_MS);
		wires_step(s.wires, -1, STEP_MS);
	}
	for (int fd = 0; fd < 256; fd++) {
		struct sockaddr_storage a;
		socklen_t len = sizeof a;
		if (getpeername(fd, (struct sockaddr *)&a, &len) != 0 ||
		    a.ss_family != AF_INET)
			continue;
		int ms = option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT);
		least = ends == 0 || ms < least ? ms : least;
		most = ms > most ? ms : most;
		asked += option(fd, SOL_SOCKET, SO_KEEPALIVE) == 1 &&
		         option(fd, IPPROTO_TCP, TCP_KEEPIDLE) <= 10;
		ends++;
	}
	T_CHECK(ends == 2 && asked == 2);
	T_CHECK(least == 10000 && most > 60000 && most < 65000);
	close_side(&s);
	close_side(&from);
	peer_free(p);
}

int
main(void)
{
	crowd(0, CROWD);
	crowd(CROWD - 10, 10);
	watched();
	return t_done();
}
