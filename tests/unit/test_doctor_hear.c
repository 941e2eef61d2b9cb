/* Which packets the doctor's examination takes from a socket, which of them it counts as blocks of
 * the session, which way ECHOs and their probes came, and when it sends the next probe. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/wire/probe.h"
#include "frisbee/doctor/doctor_exam.h"
#include "tests/t.h"

static const uint8_t loopback[4] = { 127, 0, 0, 1 };
static struct err e;

static void
send_to(int fd, unsigned packets)
{
	struct sockaddr_in at;
	socklen_t len = sizeof at;

	T_CHECK(getsockname(fd, (struct sockaddr *)&at, &len) == 0);
	for (unsigned i = 0; i < packets; i++)
		T_CHECK(sendto(fd, &i, sizeof i, 0, (struct sockaddr *)&at, len) == sizeof i);
}

/* A turn takes no more packets than it may, and the next one takes the rest. */
static void
test_turn(void)
{
	struct doctor_facts f = { .server_known = false };
	struct exam x = { .f = &f, .first = -1, .second = -1, .direct = -1 };
	struct heard h;
	unsigned left = 2;
	int fd = exam_open_at(loopback, 0, EXAM_TTL_DIRECT, &e);

	T_CHECK(fd >= 0);
	send_to(fd, 3);
	T_CHECK(exam_receive(&x, fd, &h, &left) && left == 1);
	T_CHECK(exam_receive(&x, fd, &h, &left) && left == 0);
	errno = 0;
	T_CHECK(!exam_receive(&x, fd, &h, &left) && errno == EAGAIN);
	left = 2;
	T_CHECK(exam_receive(&x, fd, &h, &left) && left == 1);
	T_CHECK(!exam_receive(&x, fd, &h, &left));
	close(fd);
}

/* How many blocks the examination counts in a message of this kind, from this sender. */
static uint32_t
counted(enum wirext_kind kind, uint8_t sender)
{
	static const uint8_t blocks[3 * WIRE_BLOCK_BYTES];
	struct doctor_facts f = { .server_known = true, .server = { 10, 0, 0, 1 } };
	struct exam x = { .f = &f };
	struct heard h = { .from = { 10, 0, 0, sender }, .ttl = -1 };
	struct wirext_msg m = { .kind = kind, .srcip = { 10, 0, 0, sender } };

	if (kind == WIREXT_PARITY) {
		m.u.parity.data = blocks;
	} else if (kind == WIREXT_DATA || kind == WIREXT_URGENT_DATA) {
		m.u.data.count = 3;
		m.u.data.content = WIRE_CHUNK_BLOCKS;
		m.u.data.data = blocks;
	}
	h.len = wirext_put(&m, h.buf, sizeof h.buf);
	h.pkt = h.buf;
	T_CHECK(h.len > 0);
	exam_note_state(&x, &h);
	T_CHECK(f.group_heard == (sender == 1));
	return x.blocks;
}

/* A server says how many blocks it has sent, of all kinds; as many must count where none is lost. */
static void
test_blocks(void)
{
	T_CHECK(counted(WIREXT_DATA, 1) == 3);
	T_CHECK(counted(WIREXT_URGENT_DATA, 1) == 3);
	T_CHECK(counted(WIREXT_PARITY, 1) == 1);
	T_CHECK(counted(WIREXT_TIME, 1) == 0);
	T_CHECK(counted(WIREXT_DATA, 2) == 0);
	T_CHECK(counted(WIREXT_URGENT_DATA, 2) == 0);
}

/* Sends an ECHO to a socket, of a session of this port that has sent so many blocks. */
static void
echo_of(int fd, unsigned flags, uint16_t port, uint32_t blocks)
{
	struct probe p = { .echo = true,
		.flags = (uint16_t)flags,
		.port = port,
		.blocks = blocks };
	uint8_t pkt[PROBE_BYTES_MIN];
	struct sockaddr_in at;
	socklen_t len = sizeof at;

	T_CHECK(probe_put(&p, pkt, sizeof pkt));
	T_CHECK(getsockname(fd, (struct sockaddr *)&at, &len) == 0);
	T_CHECK(sendto(fd, pkt, sizeof pkt, 0, (struct sockaddr *)&at, len) ==
		sizeof pkt);
}

/* Sends so many ECHOs to a socket, of probes that came by the group or directly. */
static void
echo_to(int fd, bool by_group, unsigned echoes)
{
	for (unsigned i = 0; i < echoes; i++)
		echo_of(fd, by_group ? PROBE_CAME_BY_GROUP : 0, 0, 0);
}

/* The way of the probe, then that of the ECHO: each of the four is counted by itself. */
static void
test_ways(void)
{
	struct doctor_facts f = { .server_known = true, .server = { 127, 0, 0, 1 } };
	struct exam x = { .f = &f,
		.first = -1,
		.plain = -1,
		.arp = -1,
		.ping = -1,
		.watch = -1 };

	x.second = exam_open_at(loopback, 0, EXAM_TTL_DIRECT, &e);
	x.direct = exam_open_at(loopback, 0, EXAM_TTL_DIRECT, &e);
	T_CHECK(x.second >= 0 && x.direct >= 0);
	echo_to(x.second, true, 1);
	echo_to(x.second, false, 2);
	echo_to(x.direct, true, 3);
	echo_to(x.direct, false, 4);
	T_CHECK(exam_listen(&x, 0, NULL, &e) == 0);
	T_CHECK(f.group_group == 1);
	T_CHECK(f.direct_group == 2);
	T_CHECK(f.group_direct == 3);
	T_CHECK(f.direct_direct == 4);
	close(x.second);
	close(x.direct);
}

/* Sends blocks to the socket, from its own port. */
static void
blocks_to(struct exam *x, unsigned blocks)
{
	static const uint8_t data[WIRE_BLOCK_BYTES];
	struct wire_msg m = { .type = WIRE_REQUEST,
		.subtype = WIRE_BLOCK,
		.srcip = { 127, 0, 0, 1 } };
	struct sockaddr_in at;
	socklen_t len = sizeof at;
	uint8_t pkt[WIRE_PACKET_MAX];

	m.u.block.data = data;
	size_t n = wire_put(&m, pkt, sizeof pkt);
	T_CHECK(getsockname(x->first, (struct sockaddr *)&at, &len) == 0);
	x->f->port = ntohs(at.sin_port);
	for (unsigned i = 0; i < blocks; i++)
		T_CHECK(sendto(x->first, pkt, n, 0, (struct sockaddr *)&at, len) ==
			(ssize_t)n);
}

/* All that a session sends comes, but this machine is late to take it: nothing is said to
 * be lost.  Then half of it is lost. */
static void
test_late(void)
{
	struct doctor_facts f = { .server_known = true, .server = { 127, 0, 0, 1 } };
	struct exam x = { .f = &f,
		.direct = -1,
		.plain = -1,
		.arp = -1,
		.ping = -1,
		.watch = -1 };

	x.first = exam_open_at(loopback, 0, EXAM_TTL_DIRECT, &e);
	x.second = exam_open_at(loopback, 0, EXAM_TTL_DIRECT, &e);
	T_CHECK(x.first >= 0 && x.second >= 0);
	blocks_to(&x, 10);
	T_CHECK(exam_listen(&x, 0, NULL, &e) == 0);
	/* 10 blocks come behind the first ECHO, and are taken with it. */
	echo_of(x.second, 0, f.port, 10);
	blocks_to(&x, 10);
	T_CHECK(exam_listen(&x, 0, NULL, &e) == 0);
	blocks_to(&x, 80);
	echo_of(x.second, 0, f.port, 100);
	T_CHECK(exam_listen(&x, 0, NULL, &e) == 0);
	T_CHECK(f.session.sent == 90);
	T_CHECK(f.session.heard == 90);
	blocks_to(&x, 50);
	echo_of(x.second, 0, f.port, 200);
	T_CHECK(exam_listen(&x, 0, NULL, &e) == 0);
	T_CHECK(f.session.sent == 190);
	T_CHECK(f.session.heard == 140);
	close(x.first);
	close(x.second);
}

/* A burst makes up for the time in which the program did not run, but for no more than ten
 * probes; what is sent one by one never comes closer together. */
static void
test_next(void)
{
	T_CHECK(exam_next_us(1000, 1000, 500, 10) == 1500);
	T_CHECK(exam_next_us(1500, 1700, 500, 10) == 2000);
	T_CHECK(exam_next_us(2000, 6500, 500, 10) == 2500);
	T_CHECK(exam_next_us(2500, 9000, 500, 10) == 4500);
	T_CHECK(exam_next_us(0, 100, 500, 10) == 500);
	T_CHECK(exam_next_us(1000, 1000, 20000, 0) == 21000);
	T_CHECK(exam_next_us(21000, 50000, 20000, 0) == 70000);
}

/* An error that has come is told, and the next poll() waits. */
static void
test_errors(void)
{
	struct doctor_facts f = { .server_known = false };
	int fd = exam_open_at(loopback, 0, EXAM_TTL_DIRECT, &e);
	int closed = exam_open_at(loopback, 0, EXAM_TTL_DIRECT, &e);
	struct exam x = { .f = &f, .first = -1, .second = -1, .direct = fd, .watch = -1,
		.plain = -1, .arp = -1, .ping = -1 };
	struct sockaddr_in at;
	socklen_t len = sizeof at;
	struct pollfd p = { fd, POLLIN, 0 };

	T_CHECK(getsockname(closed, (struct sockaddr *)&at, &len) == 0);
	close(closed);
	for (unsigned i = 0; i < 2; i++)
		(void)sendto(fd, &i, sizeof i, 0, (struct sockaddr *)&at, len);
	T_CHECK(poll(&p, 1, 10000) == 1 && p.revents == POLLERR);
	T_CHECK(exam_listen(&x, 1000, NULL, &e) == 0);
	T_CHECK(f.refused);
	T_CHECK(!f.unreachable);
	T_CHECK(poll(&p, 1, 0) == 0);
	close(fd);
}

int
main(void)
{
	test_turn();
	test_errors();
	test_blocks();
	test_ways();
	test_late();
	test_next();
	return t_done();
}
