/* The answers to probes through the group say how many blocks were sent until now. */
#include "common/wire/probe.h"
#include "frisbeed/serve/probes.h"
#include "tests/t.h"
#include "tests/unit/server_talk.h"

static struct err e;

/* A socket that sends to itself. */
static struct sock *
open_own(void)
{
	struct sock_config c = { .addr = { 127, 0, 0, 1 },
		.iface = "lo",
		.loopback = true,
		.buffer_bytes = MIB };
	struct sock *s = NULL;

	T_CHECK(sock_open(&s, &c, &e) == 0);
	return s;
}

static void
on_packet(void *arg, const void *pkt, size_t len, const uint8_t from[4])
{
	(void)from;
	T_CHECK(probe_get(arg, pkt, len, &e) == 0);
}

/* The number of blocks that the answer to a probe through the group has. */
static uint32_t
told(struct probes *p, struct sock *second)
{
	static const uint8_t from[4] = { 127, 0, 0, 1 };
	struct probe asks = { .id = 7, .flags = PROBE_GROUP, .srcip = { 127, 0, 0, 1 } };
	struct probe answer = { .blocks = UINT32_MAX };
	uint8_t pkt[PROBE_BYTES_MIN];

	T_CHECK(probe_put(&asks, pkt, sizeof pkt) == 1);
	T_CHECK(probes_input(p, 1, pkt, sizeof pkt, from));
	T_CHECK(sock_receive(second, on_packet, &answer, &e) == 0);
	T_CHECK(answer.echo);
	return answer.blocks;
}

int
main(void)
{
	struct server *s = make(3 * MIB, true, 1, 0);
	struct sock *first = open_own(), *second = open_own();
	struct probes *p = probes_new(first, second, s, 9, 0);
	static uint32_t blocks[4096];

	T_CHECK(told(p, second) == 0);
	request(s, 0, 0, 0, 1000);
	T_CHECK(drain(s, 0, blocks, 4096) == 1000);
	T_CHECK(told(p, second) == 1000);
	request(s, 0, 1, 0, 24);
	T_CHECK(drain(s, 0, blocks, 4096) == 24);
	T_CHECK(told(p, second) == 1024);
	probes_free(p);
	sock_close(second);
	sock_close(first);
	server_free(s);
	return t_done();
}
