/* client_talk.h: a client's engine, what it hears, and what it says.  Time is a number that the
 * test sets. */
#ifndef TESTS_UNIT_CLIENT_TALK_H
#define TESTS_UNIT_CLIENT_TALK_H

#include <string.h>

#include "common/wire/blockmap.h"
#include "frisbee/client/client.h"

enum { MS = 1000, TICK = 30 * MS, IDLE = 3 * TICK };

static const uint8_t me[4] = { 10, 0, 0, 9 }, other[4] = { 10, 0, 0, 8 },
		     server_ip[4] = { 10, 0, 0, 1 };
static const uint8_t block_data[WIRE_BLOCK_BYTES];

static inline struct client_config
config(uint32_t buffers)
{
	struct client_config cfg = { .clientid = 77,
		.seed = 5,
		.buffers = buffers,
		.readahead = 2,
		.in_progress = 8,
		.redo_us = 1000 * MS,
		.tick_us = TICK,
		.idle_ticks = 3,
		.join_us = 500 * MS,
		.sequential = true };

	memcpy(cfg.srcip, me, 4);
	return cfg;
}

static inline bool
input(struct client *c, uint64_t now, struct wire_msg *m, const uint8_t from[4],
    struct client_store *st)
{
	uint8_t pkt[WIRE_PACKET_MAX];

	memcpy(m->srcip, from, 4);
	size_t len = wire_put(m, pkt, sizeof pkt);
	return client_input(c, now, pkt, len, from, st);
}

static inline void
join_reply(struct client *c, uint64_t now, uint32_t blocks)
{
	struct client_store st;
	struct wire_msg m = {
		.type = WIRE_REPLY, .subtype = WIRE_JOIN, .u.join.blocks = blocks
	};

	input(c, now, &m, server_ip, &st);
}

static inline void
join2_reply(struct client *c, uint64_t now, uint32_t id, uint32_t blocks,
    uint64_t bytes, uint32_t block_bytes)
{
	struct client_store st;
	struct wire_msg m = { .type = WIRE_REPLY,
		.subtype = WIRE_JOIN2,
		.u.join2 = { id, blocks, 1024, block_bytes, bytes } };

	input(c, now, &m, server_ip, &st);
}

static inline bool
block_from(struct client *c, uint64_t now, uint32_t chunk, uint32_t block,
    const uint8_t from[4], struct client_store *st)
{
	struct wire_msg m = { .type = WIRE_REQUEST,
		.subtype = WIRE_BLOCK,
		.u.block = { chunk, block, block_data } };

	return input(c, now, &m, from, st);
}

/* Gives the client blocks [first, last] of a chunk.  Returns how many of them are to be
 * stored. */
static inline uint32_t
blocks(struct client *c, uint64_t now, uint32_t chunk, uint32_t first, uint32_t last)
{
	struct client_store st;
	uint32_t n = 0;

	for (uint32_t b = first; b <= last; b++)
		n += block_from(c, now, chunk, b, server_ip, &st) &&
		     st.chunk == chunk && st.block == b;
	return n;
}

static inline void
heard_request(struct client *c, uint64_t now, uint32_t chunk)
{
	struct client_store st;
	struct wire_msg m = {
		.type = WIRE_REQUEST, .subtype = WIRE_REQ, .u.req = { chunk, 0, 1024 }
	};

	input(c, now, &m, other, &st);
}

/* Takes the next packet that the client sends.  False: there is none. */
static inline bool
says(struct client *c, uint64_t now, struct wire_msg *m)
{
	uint8_t pkt[WIRE_PACKET_MAX];
	struct err e;
	size_t len = client_output(c, now, pkt);

	memset(m, 0, sizeof *m);
	return len > 0 && wire_get(m, pkt, len, &e) == 0 &&
	       memcmp(m->srcip, me, 4) == 0;
}

static inline bool
asks_whole(struct client *c, uint64_t now, uint32_t chunk, uint32_t count)
{
	struct wire_msg m;

	return says(c, now, &m) && m.subtype == WIRE_REQ && m.u.req.chunk == chunk &&
	       m.u.req.first == 0 && m.u.req.count == count;
}

static inline bool
is_silent(struct client *c, uint64_t now)
{
	struct wire_msg m;

	return !says(c, now, &m) && client_deadline(c, now) > now;
}

/* A client that loads an image.  Its server is named, so that silence is no reason to ask for
 * other servers. */
static inline struct client *
loading(uint32_t buffers, uint32_t chunks)
{
	struct client_config cfg = config(buffers);
	cfg.has_server = true;
	memcpy(cfg.server, server_ip, 4);
	struct client *c = client_new(&cfg, 0);
	struct wire_msg m;

	says(c, 0, &m);
	join_reply(c, 0, chunks * 1024);
	return c;
}

#endif /* TESTS_UNIT_CLIENT_TALK_H */
