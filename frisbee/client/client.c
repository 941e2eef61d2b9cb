#include "frisbee/client/client.h"

#include <assert.h>
#include <stdio.h>
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
	client_hold_begin(&c->hold, cfg->seed);
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
	client_load_forget(&c->load);
	client_packs_forget(&c->packs);
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

static bool
wants_more(const struct client *c)
{
	return c->bufs.nfilling > 0 ||
	       (c->bufs.nfree > 0 && client_next_open(c, c->chunks.n) != c->chunks.n);
}

/* -S names who may be the server. */
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

/* A JOIN of somebody who is no client. */
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
		if (from_named(c, from) && !client_hear_cookie(c, now_us, pkt, len))
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
		return client_pin_hears(&c->pin, now_us, from) &&
		       handle_block(c, now_us, &m, store);
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

/* Is what is needed asked for by the extension's messages? */
static bool
speaks_ext(const struct client *c)
{
	return c->session.on && !client_partial(c);
}

/* What is said besides asking for blocks. */
static size_t
other_output(struct client *c, uint64_t now_us, void *pkt)
{
	if (c->membership.join_again)
		return client_put_first_join(c, now_us, pkt);
	if (client_claim_asks(&c->claim, now_us))
		return client_put_join(c, now_us, WIREXT_AGAIN, pkt);
	size_t len = client_ext_say_fits(c, now_us, pkt);
	if (len == 0 && wants_more(c) && now_us >= client_ask_who_at_us(c))
		len = client_put_join(c, now_us, WIREXT_AGAIN, pkt);
	return len;
}

/* When there may be something to ask, if no packet arrives before that. */
static uint64_t
next_us(const struct client *c, uint64_t now_us, uint64_t settle_us)
{
	uint64_t at = now_us + c->cfg.tick_us, ahead_us = c->requests.ahead_at_us;

	if (ahead_us > now_us && ahead_us < at)
		at = ahead_us;
	if (settle_us < at)
		at = settle_us;
	if (client_partial(c) && client_partial_quiet_us(c) < at)
		at = client_partial_quiet_us(c);
	return client_bufs_settled_before(&c->bufs, now_us, at);
}

static size_t
loading_output(struct client *c, uint64_t now_us, void *pkt)
{
	size_t other = other_output(c, now_us, pkt);
	if (other > 0)
		return other;
	if (!wants_more(c))
		return 0;
	if (c->session.on) {
		size_t n = client_partial(c) ? client_ext_listen(c, now_us, pkt)
		                             : client_ext_output(c, now_us, pkt);
		if (n > 0 || speaks_ext(c))
			return n;
		if (!c->session.on)
			client_requests_alive(&c->requests, now_us); /* as if never negotiated */
	}
	if (speaks_ext(c))
		return 0;
	if (client_partial(c) && now_us >= client_partial_quiet_us(c))
		client_end_pass(c, now_us);
	if (now_us >= client_requests_idle_at_us(&c->requests)) {
		client_go_idle(c, now_us);
		client_schedule_now(&c->schedule, now_us);
	}
	if (now_us < c->schedule.at_us)
		return 0;
	uint64_t settle_us = client_chunks_settle(&c->chunks, now_us, c->position.guard_us);
	size_t len = client_urgent_say(c, now_us, pkt);
	if (len == 0)
		len = client_requests_say_missing(c, now_us, pkt);
	if (len == 0)
		len = client_requests_say_ahead(c, now_us, pkt);
	if (len == 0)
		client_schedule_next(&c->schedule, next_us(c, now_us, settle_us));
	return len;
}

/* When -T runs out. */
static uint64_t
silence_at_us(const struct client *c)
{
	return client_membership_silent_at_us(
	    &c->membership, c->cfg.silence_us, wants_more(c));
}

size_t
client_output(struct client *c, uint64_t now_us, void *pkt)
{
	if (c->membership.leave_pending)
		return client_put_leave(c, pkt);
	if (now_us >= silence_at_us(c))
		client_membership_give_up(&c->membership, c->cfg.silence_us);
	switch (c->membership.state) {
	case CLIENT_JOINING:
		return client_join_output(c, now_us, pkt);
	case CLIENT_LOADING:
		return loading_output(c, now_us, pkt);
	case CLIENT_COMPLETE:
		return client_ext_say_flushing(c, now_us, pkt);
	default:
		return 0;
	}
}

static uint64_t
earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* When there may be something to say, while loading. */
static uint64_t
loading_at_us(const struct client *c)
{
	uint64_t at = client_claim_ask_at_us(&c->claim);

	if (c->session.on)
		at = earlier(at, client_packs_at_us(&c->packs));
	if (!wants_more(c))
		return at;
	at = earlier(at, earlier(c->schedule.at_us, client_ask_who_at_us(c)));
	return earlier(
	    at, speaks_ext(c) ? client_load_at_us(&c->load) : client_requests_idle_at_us(&c->requests));
}

uint64_t
client_deadline(const struct client *c, uint64_t now_us)
{
	uint64_t at = silence_at_us(c);

	if (c->membership.leave_pending || (c->membership.join_again && c->membership.state == CLIENT_LOADING))
		return now_us;
	if (c->membership.state == CLIENT_JOINING)
		at = earlier(at, c->membership.join_at_us);
	else if (c->membership.state == CLIENT_LOADING)
		at = earlier(at, loading_at_us(c));
	at = earlier(at, client_ext_flushing_at_us(c));
	return at > now_us ? at : now_us;
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
	return c->membership.state == CLIENT_JOINING || c->membership.state == CLIENT_LOADING;
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
