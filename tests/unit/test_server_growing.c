/* A session over an image that still arrives: nothing is read before it is here, and whoever
 * asked for it before gets it then. */
#include <string.h>

#include "frisbeed/server/server_growing.h"
#include "tests/t.h"
#include "tests/unit/server_talk.h"

enum { CHUNK = WIRE_CHUNK_BLOCKS, KEPT = 4 * CHUNK };

static uint32_t blocks[KEPT];

static struct server *
make_growing(bool ext)
{
	struct server_config cfg = { .image_bytes = 3 * MIB,
		.whole_chunks = true,
		.run_blocks = 32,
		.ahead = 4,
		.growing = true,
		.idle_us = 1000000,
		.ext = { .on = ext, .port = 5008, .session = 9 } };

	memcpy(cfg.srcip, server_ip, 4);
	return server_new(&cfg, 0);
}

static void
join_ext(struct server *s, uint64_t now)
{
	struct wire_msg m = from_a(WIRE_JOIN);
	uint8_t pkt[WIRE_PACKET_MAX];

	m.u.join.clientid = 7;
	size_t n = wire_put(&m, pkt, sizeof pkt);
	n = wirext_put_offer(pkt, n, sizeof pkt, 0);
	server_input(s, now, pkt, n, ip_a);
}

/* It can take all of the image. */
static void
go(struct server *s, uint64_t now)
{
	struct wirext_msg m = {
		.kind = WIREXT_CREDIT, .session = 9, .u.credit = { .clientid = 7, .blocks = 3 * CHUNK }
	};
	uint8_t pkt[WIREXT_PACKET_MAX];

	memcpy(m.srcip, ip_a, 4);
	server_input(s, now, pkt, wirext_put(&m, pkt, sizeof pkt), ip_a);
}

static void
have(struct server *s, uint64_t now, uint32_t chunk, uint32_t first, uint32_t count)
{
	struct blockmap m = blockmap_range(first, count);

	server_have(s, now, chunk, &m);
}

/* Are these n blocks all of one chunk? */
static bool
are_of(uint32_t chunk, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (blocks[i] / CHUNK != chunk)
			return false;
	return n == CHUNK;
}

/* Which chunks does the next STATE say will come?  Bit by chunk. */
static unsigned
said_to_come(struct server *s, uint64_t now)
{
	struct server_out out;
	struct wirext_msg m;
	struct err e;

	while (server_output(s, now, &out))
		if (out.kind == SERVER_OUT_PACKET &&
		    wirext_get(&m, out.pkt, out.len, &e) == 0 && m.kind == WIREXT_STATE)
			return m.u.state.coming.bits[0];
	return 0;
}

static void
test_requests(void)
{
	struct server *s = make_growing(false);
	uint64_t now = 1000;

	join(s, now, 7);
	request(s, now, 1, 0, CHUNK);
	request(s, now, 2, 10, 5);
	T_CHECK(drain(s, now, blocks, KEPT) == 0);
	have(s, now, 1, 0, CHUNK - 1);
	T_CHECK(drain(s, now, blocks, KEPT) == 0);
	have(s, now, 0, 0, CHUNK); /* nobody wants it */
	T_CHECK(drain(s, now, blocks, KEPT) == 0);
	have(s, now, 1, CHUNK - 1, 1);
	T_CHECK(are_of(1, drain(s, now, blocks, KEPT)));
	have(s, now, 1, 0, CHUNK); /* again: it was sent */
	T_CHECK(drain(s, now, blocks, KEPT) == 0);
	T_CHECK(!server_done(s, now + 60000000)); /* chunk 2 is still awaited */
	have(s, now, 2, 0, CHUNK);
	T_CHECK(are_of(2, drain(s, now, blocks, KEPT)));
	request(s, now, 0, 100, 3);
	T_CHECK(drain(s, now, blocks, KEPT) == 3);
	T_CHECK(server_done(s, now + 60000000));
	server_free(s);
}

/* Who joins is told that all will come, and gets each chunk as it comes. */
static void
test_extension(void)
{
	struct server *s = make_growing(true);
	uint64_t now = 1000;

	join_ext(s, now);
	go(s, now);
	T_CHECK(said_to_come(s, now) == 7);
	T_CHECK(drain(s, now, blocks, KEPT) == 0);
	now += 1000000;
	have(s, now, 2, 0, CHUNK);
	T_CHECK(are_of(2, drain(s, now, blocks, KEPT)));
	now += 1000000;
	T_CHECK(said_to_come(s, now) == 3);
	have(s, now, 0, 0, CHUNK);
	T_CHECK(are_of(0, drain(s, now, blocks, KEPT)));
	have(s, now, 1, 0, CHUNK);
	T_CHECK(are_of(1, drain(s, now, blocks, KEPT)));
	now += 1000000;
	T_CHECK(said_to_come(s, now) == 0);
	server_free(s);
}

static void
test_part(void)
{
	struct blockmap some = blockmap_range(5, 20), rest = blockmap_range(0, 5),
			most = blockmap_range(25, CHUNK - 25);
	struct growing g;

	T_CHECK(growing_init(&g, 2) == 0);
	growing_want(&g, 1);
	growing_want(&g, 1);
	T_CHECK(g.wanted == 1);
	T_CHECK(growing_awaits(&g, 1));
	T_CHECK(!growing_have(&g, 1, &some, CHUNK));
	T_CHECK(!growing_have(&g, 1, &most, CHUNK));
	T_CHECK(!growing_has(&g, 1));
	T_CHECK(growing_have(&g, 1, &rest, CHUNK));
	T_CHECK(growing_has(&g, 1));
	T_CHECK(!growing_awaits(&g, 1));
	T_CHECK(g.wanted == 0);
	T_CHECK(!growing_have(&g, 0, &rest, 5)); /* the last one of a file: nobody asked */
	T_CHECK(growing_has(&g, 0));
	growing_fini(&g);
	T_CHECK(growing_has(&g, 0)); /* one that does not grow is here */
}

int
main(void)
{
	test_part();
	test_requests();
	test_extension();
	return t_done();
}
