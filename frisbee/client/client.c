/* client.c: begins and ends the engine, reads packets of the base protocol, and
 * answers questions about its state.  The shell calls it, from one thread at a time. */
#include "frisbee/client/client.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "frisbee/client/client_impl.h"

struct client *
client_new(const struct client_config *cfg, uint64_t now_us)
{
	assert(cfg->buffers >= 1 && cfg->readahead >= 1 && cfg->in_progress >= 1);
	assert(cfg->tick_us >= 1 && cfg->join_us >= 1);
	struct client *c = calloc(1, sizeof *c);
	if (c == NULL)
		return NULL;
	c->cfg = *cfg;
	c->cfg.redo_us += c->cfg.redo_us == 0; /* at once is too soon */
	c->cfg.sequential |= cfg->in_order;
	c->cfg.parity &= cfg->first_blocks == 0;
	client_backoff_begin(&c->backoff, cfg->seed);
	client_membership_begin(&c->membership, now_us, cfg->start_delay_us);
	client_pin_begin(&c->pin, cfg->has_server, cfg->any_file, cfg->seed);
	client_requests_begin(&c->requests, &c->cfg);
	client_counters_begin(&c->counters, &c->cfg);
	return c;
}

void
client_drop_image(struct client *c)
{
	client_chunks_fini(&c->chunks);
	client_bufs_free(&c->bufs);
	client_nack_forget(&c->nack);
	client_credit_forget(&c->credit);
	client_congestion_forget(&c->congestion);
	client_mtu_forget(&c->mtu);
	client_skip_forget(&c->skip);
	client_counters_forget_image(&c->counters);
	client_membership_forget_image(&c->membership);
	client_session_forget(&c->session);
}

void
client_free(struct client *c)
{
	if (c == NULL)
		return;
	client_drop_image(c);
	free(c);
}

static bool
handle_block(struct client *c, uint64_t now_us, const struct wire_msg *m,
    struct client_store *store)
{
	struct client_blocks in = { .chunk = m->u.block.chunk,
		.first = m->u.block.block,
		.count = 1,
		.data = m->u.block.data };

	return client_take_blocks(c, now_us, &in, store);
}

/* Only the server that -S names may answer. */
static bool
from_named(const struct client *c, const uint8_t from[4])
{
	return !c->cfg.has_server || memcmp(from, c->cfg.server, 4) == 0;
}

void
client_set_address(struct client *c, const uint8_t addr[4])
{
	memcpy(c->cfg.srcip, addr, 4);
}

/* Is it a JOIN that only asks whether a server is there? */
static bool
only_asks(const void *pkt, size_t len)
{
	uint32_t flags;

	return wirext_get_offer(pkt, len, &flags) && (flags & WIREXT_PROBES) != 0;
}

bool
client_input(struct client *c, uint64_t now_us, const void *pkt, size_t len,
    const uint8_t from[4], struct client_store *store)
{
	struct wire_msg m;
	struct err e;
	struct blockmap asked;

	if (wirext_is(pkt, len))
		return client_ext_input(c, now_us, pkt, len, from, store);
	if (wire_get(&m, pkt, len, &e) != 0 || !wire_source_is(&m, from))
		return false;
	if (m.type == WIRE_REPLY) {
		struct wirext_answer a;
		bool answered = wirext_get_answer(pkt, len, &a);
		if (!from_named(c, from))
			client_pin_ignore(&c->pin, from);
		else if (!client_hear_cookie(c, now_us, pkt, len))
			client_hear_reply(c, now_us, &m, answered ? &a : NULL, from);
		return false;
	}
	if (m.subtype != WIRE_BLOCK && memcmp(from, c->cfg.srcip, 4) != 0 &&
	    !(m.subtype == WIRE_JOIN && only_asks(pkt, len)))
		client_requests_crowd(&c->requests, now_us);
	if (c->membership.state != CLIENT_LOADING)
		return false;
	switch (m.subtype) {
	case WIRE_BLOCK:
		if (client_pin_hears(&c->pin, now_us, from))
			return handle_block(c, now_us, &m, store);
		client_blocks_of_other(c, from, m.u.block.chunk, m.u.block.block, 1);
		return false;
	case WIRE_REQ:
		client_requests_old_client(&c->requests, now_us);
		asked = blockmap_range(m.u.req.first, m.u.req.count);
		client_requests_hear(c, now_us, m.u.req.chunk, &asked);
		return false;
	case WIRE_PREQ:
		asked = blockmap_get(m.u.preq.map);
		client_requests_hear(c, now_us, m.u.preq.chunk, &asked);
		return false;
	default:
		return false;
	}
}

enum client_state
client_state(const struct client *c)
{
	return c->membership.state;
}

uint64_t
client_heard_us(const struct client *c)
{
	return c->membership.heard_us;
}

const char *
client_error(const struct client *c)
{
	return c->membership.error;
}

const uint8_t *
client_server(const struct client *c)
{
	return c->pin.addr;
}

const uint8_t *
client_other_server(const struct client *c)
{
	return c->pin.disputed ? c->pin.other : NULL;
}

const uint8_t *
client_ignored_server(const struct client *c)
{
	return c->pin.ignored ? c->pin.other : NULL;
}

uint16_t
client_second_port(const struct client *c)
{
	return c->session.on ? c->session.port : 0;
}

void
client_no_second_port(struct client *c)
{
	client_session_close(&c->session);
}

bool
client_wants_blocks(const struct client *c)
{
	return c->membership.state == CLIENT_JOINING ||
	       c->membership.state == CLIENT_LOADING;
}

uint32_t
client_images(const struct client *c)
{
	return c->membership.images;
}

uint32_t
client_chunks(const struct client *c)
{
	return c->chunks.n;
}

uint64_t
client_image_bytes(const struct client *c)
{
	return c->membership.bytes;
}

bool
client_image(const struct client *c, struct client_image *out)
{
	*out = (struct client_image){ .chunks = c->chunks.n,
		.bytes = c->membership.bytes,
		.has_identity = c->session.known };
	memcpy(out->identity, c->session.identity, sizeof out->identity);
	return c->chunks.n > 0;
}

uint32_t
client_chunks_taken(const struct client *c)
{
	return c->bufs.ntaken;
}

struct client_counters
client_counters(const struct client *c)
{
	return c->counters;
}
