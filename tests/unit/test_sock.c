/* A socket whose address goes away, and whose place is taken meanwhile: it is silent until it can be
 * replaced, and the session goes on.  The addresses are those of the loopback interface of a network
 * namespace of this program's own. */
#include <arpa/inet.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/net/outage.h"
#include "common/net/sock.h"
#include "common/wire/addr.h"
#include "tests/t.h"

enum {
	SECOND = 1000000,
	STRANGE = 600, /* packets that are none of the session's */
	LONG_BYTES = 4000,
};

static const uint8_t old_addr[4] = { 10, 1, 1, 1 }, new_addr[4] = { 10, 1, 1, 2 };
static uint8_t pkt[LONG_BYTES];
static struct err e;

static struct sockaddr_in
at(const uint8_t addr[4], uint16_t port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(port) };

	memcpy(&sin.sin_addr, addr, 4);
	return sin;
}

/* The loopback interface gets this address, and no other. */
static bool
set_address(const uint8_t addr[4])
{
	char command[200], text[ADDR_TEXT_MAX];

	snprintf(command, sizeof command,
	    "{ ip link set lo up && ip address flush dev lo && "
	    "ip address add %s/32 dev lo; } > /dev/null 2>&1",
	    addr_text(addr, text));
	return system(command) == 0;
}

/* Somebody else's socket, which shares its port with nobody. */
static int
take_place(const uint8_t addr[4], uint16_t port)
{
	struct sockaddr_in sin = at(addr, port);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	T_CHECK(bind(fd, (struct sockaddr *)&sin, sizeof sin) == 0);
	return fd;
}

static struct sock *
open_one(void)
{
	struct sock_config c = { .iface = "lo", .any_sender = true, .buffer_bytes = 4 << 20 };
	struct sock *s = NULL;

	memcpy(c.addr, old_addr, 4);
	T_CHECK(sock_open(&s, &c, &e) == 0);
	return s;
}

static void
on_packet(void *arg, const void *bytes, size_t len, const uint8_t from[4])
{
	(void)bytes, (void)len, (void)from;
	++*(unsigned *)arg;
}

static int
hears(struct sock *s)
{
	uint8_t from[4];
	uint16_t port;

	return sock_receive_from(s, pkt, sizeof pkt, from, &port, &e);
}

static bool
sends_whole(struct sock *s)
{
	int how = -1;
	socklen_t len = sizeof how;

	T_CHECK(sock_send_to(s, pkt, sizeof pkt, new_addr, 9, &e) == 1);
	T_CHECK(getsockopt(sock_fd(s), IPPROTO_IP, IP_MTU_DISCOVER, &how, &len) == 0);
	return how == IP_PMTUDISC_PROBE;
}

static void
test_place_is_taken(void)
{
	struct sock *s = open_one();
	uint16_t port = sock_port(s);
	unsigned heard = 0;

	T_CHECK(sock_send_to(s, pkt, sizeof pkt, old_addr, 9, &e) == 1);
	T_CHECK(set_address(new_addr));
	int other = take_place(new_addr, port);
	sock_return(s);
	T_CHECK(sock_fd(s) == -1);
	T_CHECK(hears(s) == 0);
	T_CHECK(sock_receive(s, on_packet, &heard, &e) == 0);
	T_CHECK(heard == 0);
	T_CHECK(sock_send_to(s, pkt, 10, new_addr, port, &e) == 0);
	close(other);
	sock_return(s);
	T_CHECK(sock_fd(s) >= 0);
	T_CHECK(sends_whole(s));
	T_CHECK(sock_send_to(s, pkt, 10, new_addr, port, &e) == 1);
	T_CHECK(hears(s) == 10);
	sock_close(s);
	T_CHECK(set_address(old_addr));
}

/* The first socket is back before the second one can be replaced. */
static void
test_outage_of_one(void)
{
	struct sock *first = open_one(), *second = open_one();
	uint16_t port = sock_port(second);
	char text[OUTAGE_TEXT_MAX];
	struct outage o = { 0 };
	uint64_t now = SECOND;

	T_CHECK(set_address(new_addr));
	int other = take_place(new_addr, port);
	T_CHECK(sock_send_to(first, pkt, 10, new_addr, 9, &e) == 0);
	T_CHECK(sock_away(first) != 0);
	T_CHECK(outage_mind(&o, now, first, second, text) == OUTAGE_BEGAN);
	for (unsigned i = 0; i < 3; i++) {
		now += 2 * SECOND;
		T_CHECK(outage_mind(&o, now, first, second, text) == OUTAGE_NOTHING);
		T_CHECK(sock_send_to(first, pkt, 10, new_addr, 9, &e) == 1);
		T_CHECK(sock_send_to(second, pkt, 10, new_addr, 9, &e) == 0);
	}
	T_CHECK(sock_fd(second) == -1);
	close(other);
	now += 2 * SECOND;
	T_CHECK(outage_mind(&o, now, first, second, text) == OUTAGE_NOTHING);
	T_CHECK(sock_send_to(first, pkt, 10, new_addr, 9, &e) == 1);
	T_CHECK(outage_mind(&o, now, first, second, text) == OUTAGE_ENDED);
	T_CHECK(sock_send_to(second, pkt, 10, new_addr, 9, &e) == 1);
	sock_close(first);
	sock_close(second);
	T_CHECK(set_address(old_addr));
}

/* Packets that are none of the session's keep nobody from his other work. */
static void
test_not_ours(void)
{
	struct sock *s = open_one();
	struct sockaddr_in to = at(old_addr, sock_port(s));
	int fd = socket(AF_INET, SOCK_DGRAM, 0), calls = 1;
	unsigned sent = 0;

	while (sent < STRANGE && sendto(fd, pkt, 0, 0, (struct sockaddr *)&to, sizeof to) == 0)
		sent++;
	T_CHECK(sent == STRANGE);
	T_CHECK(sendto(fd, pkt, 7, 0, (struct sockaddr *)&to, sizeof to) == 7);
	T_CHECK(hears(s) == 0);
	int n = 0;
	while (n == 0 && calls++ < STRANGE)
		n = hears(s);
	T_CHECK(n == 7);
	close(fd);
	sock_close(s);
}

int
main(void)
{
	int flags = CLONE_NEWNET | (geteuid() != 0 ? CLONE_NEWUSER : 0);

	if (unshare(flags) != 0 || !set_address(old_addr)) {
		printf("ok 1 - sockets # SKIP no network namespaces here\n1..1\n");
		return 0;
	}
	test_place_is_taken();
	test_outage_of_one();
	test_not_ours();
	return t_done();
}
