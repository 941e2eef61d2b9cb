/* client_ext_talk.h: a client's engine that a server with the extension has answered, what
 * the engine hears, and what it says.  The test sets the time. */
#ifndef TESTS_UNIT_CLIENT_EXT_TALK_H
#define TESTS_UNIT_CLIENT_EXT_TALK_H

#include <string.h>

#include "common/wire/blockmap.h"
#include "common/wire/wirext.h"
#include "frisbee/client/client.h"

enum { MIB = 1 << 20, CHUNKS = 4, SESSION = 9, MS = 1000 };

static const uint8_t server_ip[4] = { 10, 0, 0, 1 };

static uint8_t data[WIREXT_DATA_BLOCKS * WIRE_BLOCK_BYTES];

static inline bool
hears(struct client *c, uint64_t now, struct wirext_msg m, struct client_store *st)
{
	static uint8_t pkt[WIREXT_PACKET_MAX];

	m.session = SESSION;
	memcpy(m.srcip, server_ip, 4);
	return client_input(
	    c, now, pkt, wirext_put(&m, pkt, sizeof pkt), server_ip, st);
}

/* A client whose JOIN was answered: the image has CHUNKS chunks.  With cfg.ext the answer has
 * these flags (wirext.h). */
static inline struct client *
join(const struct client_config *cfg, uint32_t flags)
{
	struct wire_msg m = { .type = WIRE_REPLY,
		.subtype = WIRE_JOIN,
		.u.join.blocks = CHUNKS * WIRE_CHUNK_BLOCKS };
	struct wirext_answer a = {
		.flags = flags, .port = 5008, .session = SESSION, .clients = 1
	};
	struct client *c = client_new(cfg, 0);
	struct client_store st;
	uint8_t pkt[WIRE_PACKET_MAX];

	client_output(c, 0, pkt);
	memcpy(m.srcip, server_ip, 4);
	size_t n = wire_put(&m, pkt, sizeof pkt);
	if (cfg->ext)
		n = wirext_put_answer(pkt, n, sizeof pkt, &a);
	client_input(c, 1, pkt, n, server_ip, &st);
	return c;
}

static inline struct client_config
client_config(void)
{
	return (struct client_config){ .clientid = 7,
		.srcip = { 10, 0, 0, 2 },
		.buffers = 8,
		.readahead = 2,
		.in_progress = 8,
		.tick_us = 30 * MS,
		.idle_ticks = 3,
		.join_us = 500 * MS };
}

static inline struct client *
make_client(bool parity)
{
	struct client_config cfg = client_config();

	cfg.ext = true;
	cfg.parity = parity;
	return join(&cfg, WIREXT_CAN_PARITY);
}

/* Gives the client a block of the base protocol from this address.  True: it is to be stored. */
static inline bool
block_from(struct client *c, uint64_t now, uint32_t chunk, uint32_t block,
    const uint8_t from[4])
{
	struct wire_msg m = { .type = WIRE_REQUEST,
		.subtype = WIRE_BLOCK,
		.u.block = { chunk, block, data } };
	struct client_store st;
	uint8_t pkt[WIRE_PACKET_MAX];

	memcpy(m.srcip, from, 4);
	return client_input(c, now, pkt, wire_put(&m, pkt, sizeof pkt), from, &st);
}

static inline bool
block_comes(struct client *c, uint64_t now, uint32_t chunk, uint32_t block)
{
	return block_from(c, now, chunk, block, server_ip);
}

/* What a client asks for by requests of the base protocol. */
struct asked {
	uint32_t blocks; /* of one chunk, in `messages` messages */
	unsigned messages;
	unsigned others; /* messages that ask for other chunks */
};

/* Counts what the client asks for of this chunk and of others within `us` microseconds. */
static inline struct asked
count_asked(struct client *c, uint64_t *now, uint64_t us, uint32_t chunk)
{
	struct asked a = { 0 };
	uint8_t pkt[WIRE_PACKET_MAX];
	struct wire_msg m;
	struct err e;
	size_t n;

	for (uint64_t end = *now + us; *now < end; *now += MS)
		while ((n = client_output(c, *now, pkt)) > 0) {
			if (wirext_is(pkt, n) || wire_get(&m, pkt, n, &e) != 0 ||
			    m.subtype != WIRE_PREQ)
				continue;
			struct blockmap want = blockmap_get(m.u.preq.map);
			bool of_chunk = m.u.preq.chunk == chunk;
			a.blocks += of_chunk ? blockmap_count(&want) : 0;
			a.messages += of_chunk;
			a.others += !of_chunk;
		}
	return a;
}

/* Waits for the next message of this kind, for at most `us` microseconds. */
static inline bool
says(struct client *c, uint64_t *now, uint64_t us, enum wirext_kind kind,
    struct wirext_msg *m)
{
	uint8_t pkt[WIRE_PACKET_MAX];
	struct err e;
	size_t n;

	for (uint64_t end = *now + us; *now < end; *now += MS)
		while ((n = client_output(c, *now, pkt)) > 0)
			if (wirext_is(pkt, n) && wirext_get(m, pkt, n, &e) == 0 &&
			    m->kind == kind)
				return true;
	return false;
}

#endif /* TESTS_UNIT_CLIENT_EXT_TALK_H */
