/* server_talk.h: a server's engine, and what clients say to it.  Time is a number that the test
 * sets. */
#ifndef TESTS_UNIT_SERVER_TALK_H
#define TESTS_UNIT_SERVER_TALK_H

#include <string.h>

#include "common/wire/blockmap.h"
#include "frisbeed/server/server.h"
#include "tests/unit/drain.h"

enum { MIB = 1 << 20 };

static const uint8_t server_ip[4] = { 10, 0, 0, 1 }, ip_a[4] = { 10, 0, 0, 2 };

static inline struct server *
make(uint64_t bytes, bool whole, uint32_t burst, uint64_t gap_us)
{
	struct server_config cfg = { .image_bytes = bytes,
		.whole_chunks = whole,
		.run_blocks = 32,
		.ahead = 4,
		.burst = burst,
		.gap_us = gap_us };

	memcpy(cfg.srcip, server_ip, 4);
	return server_new(&cfg, 0);
}

static inline struct server *
make_ext(int64_t idle_us)
{
	struct server_config cfg = { .image_bytes = 3 * MIB,
		.whole_chunks = true,
		.run_blocks = 32,
		.ahead = 4,
		.burst = 16,
		.gap_us = 2000,
		.idle_us = idle_us,
		.ext = { .on = true, .port = 5008, .session = 9 } };

	memcpy(cfg.srcip, server_ip, 4);
	return server_new(&cfg, 0);
}

static inline void
input(struct server *s, uint64_t now, const struct wire_msg *m, const uint8_t from[4])
{
	uint8_t pkt[WIRE_PACKET_MAX];

	server_input(s, now, pkt, wire_put(m, pkt, sizeof pkt), from);
}

static inline struct wire_msg
from_a(enum wire_subtype subtype)
{
	return (struct wire_msg){
		.type = WIRE_REQUEST, .subtype = subtype, .srcip = { 10, 0, 0, 2 }
	};
}

static inline void
join(struct server *s, uint64_t now, uint32_t id)
{
	struct wire_msg m = from_a(WIRE_JOIN);

	m.u.join.clientid = id;
	input(s, now, &m, ip_a);
}

static inline void
request(struct server *s, uint64_t now, uint32_t chunk, uint32_t first, uint32_t count)
{
	struct wire_msg m = from_a(WIRE_REQ);

	m.u.req.chunk = chunk;
	m.u.req.first = first;
	m.u.req.count = count;
	input(s, now, &m, ip_a);
}

static inline void
prequest(
    struct server *s, uint64_t now, uint32_t chunk, struct blockmap map, int retries)
{
	struct wire_msg m = from_a(WIRE_PREQ);

	m.u.preq.chunk = chunk;
	m.u.preq.retries = retries;
	blockmap_put(&map, m.u.preq.map);
	input(s, now, &m, ip_a);
}

static inline uint32_t
send_now(struct server *s, uint64_t now)
{
	struct server_out out;
	uint32_t n = 0;

	for (read_all(s); server_output(s, now, &out); read_all(s))
		n++;
	return n;
}

/* The number of blocks that go out in `ms` milliseconds; the engine is asked in each of them. */
static inline uint32_t
sent_in(struct server *s, uint64_t *now, unsigned ms)
{
	uint32_t blocks[4096], n = 0;

	for (unsigned i = 0; i < ms; i++) {
		*now += 1000;
		n += drain(s, *now, blocks, 4096);
	}
	return n;
}

#endif /* TESTS_UNIT_SERVER_TALK_H */
