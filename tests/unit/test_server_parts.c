/* The server's engine: how an unpaced server counts. */
#include <string.h>

#include "common/wire/blockmap.h"
#include "frisbeed/server/server.h"
#include "tests/t.h"
#include "tests/unit/drain.h"

enum { CHUNKS = 16, AHEAD = 64, MOST = CHUNKS * WIRE_CHUNK_BLOCKS };

static const uint8_t ip[4] = { 10, 0, 0, 2 };

static void
test_first_blocks(void)
{
	struct blockmap m = blockmap_range(100, 50), got = blockmap_first(&m, 20);

	T_CHECK(blockmap_count(&got) == 20);
	T_CHECK(blockmap_next(&got, 0) == 100);
	got = blockmap_first(&m, 0);
	T_CHECK(blockmap_empty(&got));
	got = blockmap_first(&m, 5000);
	T_CHECK(blockmap_count(&got) == 50);
	m = blockmap_range(0, WIRE_CHUNK_BLOCKS);
	got = blockmap_first(&m, UINT64_MAX);
	T_CHECK(blockmap_count(&got) == WIRE_CHUNK_BLOCKS);
}

/* --- a server --- */

static struct server *
make(uint64_t gap_us)
{
	struct server_config cfg = { .image_bytes = CHUNKS << 20,
		.whole_chunks = true,
		.srcip = { 10, 0, 0, 1 },
		.run_blocks = 32,
		.ahead = AHEAD,
		.burst = 1000,
		.gap_us = gap_us,
		.ext = { .on = true, .parity = true, .port = 5008, .session = 9 } };

	return server_new(&cfg, 0);
}

static void
join(struct server *s, uint32_t id, uint32_t flags)
{
	struct wire_msg m = { .type = WIRE_REQUEST,
		.subtype = WIRE_JOIN,
		.srcip = { 10, 0, 0, 2 },
		.u.join.clientid = id };
	uint8_t pkt[WIRE_PACKET_MAX];
	size_t n = wire_put(&m, pkt, sizeof pkt);

	server_input(s, 0, pkt, wirext_put_offer(pkt, n, sizeof pkt, flags), ip);
}

static void
say(struct server *s, uint64_t now, struct wirext_msg *m)
{
	uint8_t pkt[WIRE_PACKET_MAX];

	memcpy(m->srcip, ip, 4);
	m->session = 9;
	server_input(s, now, pkt, wirext_put(m, pkt, sizeof pkt), ip);
}

/* No more goes than there is room for, to the block. */
static void
test_room(void)
{
	static uint32_t blocks[MOST];
	struct server *s = make(0);
	struct wirext_msg room = { .kind = WIREXT_CREDIT_AT }, go = { .kind = WIREXT_CREDIT };

	join(s, 1, 0);
	T_CHECK(drain(s, 1, blocks, MOST) == WIREXT_JOIN_CREDIT_UNPACED);
	room.u.credit.blocks = 512;
	room.u.credit.block = 99; /* heard: 156 are on their way */
	say(s, 2, &room);
	T_CHECK(drain(s, 2, blocks, MOST) == 512 - 156);
	T_CHECK(blocks[0] == 256);
	T_CHECK(blocks[511 - 156] == 611);
	say(s, 3, &room);
	T_CHECK(drain(s, 3, blocks, MOST) == 0);
	room.u.credit.block = 611;
	room.u.credit.blocks = 600; /* into the next chunk */
	say(s, 4, &room);
	T_CHECK(drain(s, 4, blocks, MOST) == 600);
	T_CHECK(blocks[599] == 612 + 599);
	go.u.credit.blocks = 10;
	say(s, 5, &go);
	T_CHECK(drain(s, 5, blocks, MOST) == 10);
	room.u.credit.chunk = 7; /* never sent: as if it said CREDIT */
	room.u.credit.blocks = 20;
	say(s, 6, &room);
	T_CHECK(drain(s, 6, blocks, MOST) == 20);
	server_free(s);
}

static void
report_bursts(struct server *s, uint64_t now)
{
	struct wirext_msg m = { .kind = WIREXT_NACK, .u.nack.n = 1 };

	m.u.nack.at[0] = (struct wirext_nack){ 0, { 20, 20, 20, 20, 20, 20, 20, 20 } };
	for (uint32_t i = 0; i < CHUNKS; i++)
		say(s, now, &m);
}

/* How many of these chunks go on with another one after each run. */
static uint32_t
count_turns(const uint32_t *blocks, uint32_t n)
{
	uint32_t turns = 0;

	for (uint32_t i = 1; i < n; i++)
		turns += blocks[i] / WIRE_CHUNK_BLOCKS !=
		         blocks[i - 1] / WIRE_CHUNK_BLOCKS;
	return turns;
}

static uint32_t
turns_with(uint32_t flags)
{
	static uint32_t blocks[MOST];
	struct server *s = make(1000);
	struct wirext_msg go = { .kind = WIREXT_CREDIT };
	uint32_t n = 0;

	report_bursts(s, 0);
	report_bursts(s, 0);
	join(s, 1, flags);
	for (uint64_t now = 1000; now < 60000; now += 1000) {
		go.u.credit.blocks = 8 * WIRE_CHUNK_BLOCKS;
		say(s, now, &go);
		n += drain(s, now, blocks + n, MOST - n);
		if (n > MOST - 2000)
			break;
	}
	server_free(s);
	T_CHECK(n > 4000);
	return count_turns(blocks, 4000);
}

static void
test_turns(void)
{
	T_CHECK(turns_with(0) == (4000 - 1) / 32);
	T_CHECK(turns_with(WIREXT_NO_INTERLEAVING) == (4000 - 1) / WIRE_CHUNK_BLOCKS);
}

int
main(void)
{
	test_first_blocks();
	test_room();
	test_turns();
	return t_done();
}
