/* server.c: a session of the server's engine: it creates and frees the parts, and
 * passes what arrives to them.  The shell (loop.c) or the simulator calls this, in one
 * thread. */
#include "frisbeed/server/server_impl.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

uint32_t
server_chunk_blocks(const struct server *s, uint32_t chunk)
{
	return server_image_chunk(&s->image, chunk);
}

/* Returns -1 without memory. */
static int
init_parts(struct server *s)
{
	uint32_t n = s->image.chunks;

	if (server_queue_init(&s->queue, n) != 0 ||
	    server_sent_init(&s->sent, &s->image) != 0 ||
	    server_scheduled_init(&s->scheduled, n) != 0 ||
	    server_slots_init(&s->slots, s->cfg.ahead, 0) != 0 ||
	    server_slots_init(&s->urgent_slots, SERVER_URGENT_BUFFERS,
		s->cfg.ahead + SERVER_PARITY_BUFFERS) != 0 ||
	    server_clients_init(s) != 0)
		return -1;
	server_urgent_init(&s->urgent);
	if (s->cfg.growing && growing_init(&s->growing, n) != 0)
		return -1;
	if (!s->cfg.ext.on)
		return 0;
	if (carousel_init(&s->carousel, n) != 0)
		return -1;
	return repair_init(&s->repair, n, s->now_us, &repair_usual);
}

struct server *
server_new(const struct server_config *cfg, uint64_t now_us)
{
	const uint64_t max_bytes = (uint64_t)INT32_MAX * WIRE_BLOCK_BYTES;

	assert(cfg->image_bytes > 0 && cfg->image_bytes <= max_bytes);
	assert(cfg->run_blocks >= 1 && cfg->run_blocks <= WIRE_CHUNK_BLOCKS);
	assert(cfg->ahead >= 1 && cfg->ahead <= SERVER_AHEAD_MAX);
	assert(cfg->burst >= 1 || cfg->gap_us == 0);
	assert(!cfg->ext.on || (cfg->whole_chunks && cfg->ext.session != 0));
	struct server *s = calloc(1, sizeof *s);
	if (s == NULL)
		return NULL;
	s->cfg = *cfg;
	server_announce_init(&s->announce);
	s->now_us = now_us;
	server_life_init(
	    &s->life, cfg->idle_us, cfg->linger_us, cfg->wait_clients, now_us);
	s->image = server_image_of(cfg->image_bytes);
	if (init_parts(s) != 0) {
		server_free(s);
		return NULL;
	}
	server_init_pace(s);
	rate_init(&s->rate, pace_cap(&s->pace), &rate_usual);
	return s;
}

void
server_free(struct server *s)
{
	if (s == NULL)
		return;
	server_queue_fini(&s->queue);
	server_sent_fini(&s->sent);
	carousel_fini(&s->carousel);
	repair_fini(&s->repair);
	growing_fini(&s->growing);
	server_scheduled_fini(&s->scheduled);
	server_slots_fini(&s->slots);
	server_slots_fini(&s->urgent_slots);
	server_order_fini(&s->order);
	server_clients_fini(s);
	free(s);
}

uint32_t
server_chunks(const struct server *s)
{
	return s->image.chunks;
}

struct server_stats
server_stats(const struct server *s)
{
	const uint64_t *n = s->counters.n;

	return (struct server_stats){ .joins = n[COUNT_JOINS],
		.leaves = n[COUNT_LEAVES],
		.requests = n[COUNT_REQUESTS],
		.prequests = n[COUNT_PREQUESTS],
		.bad_packets = n[COUNT_BAD_PACKETS],
		.blocks_requested = n[COUNT_ASKED],
		.blocks_already_pending = n[COUNT_MERGED],
		.blocks_sent = s->sent.blocks,
		.bytes_sent = n[COUNT_BYTES],
		.blocks_resent = s->sent.again,
		.blocks_lost = n[COUNT_LOST],
		.clients = server_members_count(&s->members),
		.clients_max = s->members.most,
		.gone = n[COUNT_FORGOTTEN],
		.wants = n[COUNT_WANTS],
		.nacks = n[COUNT_NACKS],
		.credits = n[COUNT_CREDITS],
		.parity_sent = s->sent.parity,
		.data_packets_sent = n[COUNT_DATA_PACKETS],
		.blocks_left_out = n[COUNT_LEFT_OUT],
		.urgent_asked = n[COUNT_URGENT],
		.urgent_sent = s->urgent.sent,
		.mtu_acks = n[COUNT_MTU_ACKS],
		.proactive = s->repair.proactive,
		.congestions = n[COUNT_CONGESTIONS],
		.rate = s->rate.now,
		.rate_reductions = s->rate.steps };
}

void
server_set_log(struct server *s, const struct server_log *log)
{
	s->log = *log;
}

void
server_set_address(struct server *s, const uint8_t addr[4])
{
	memcpy(s->cfg.srcip, addr, 4);
}

void
server_bad_packet(struct server *s, const uint8_t from[4], const struct err *e)
{
	server_count(&s->counters, COUNT_BAD_PACKETS, 1);
	if (s->log.bad != NULL)
		s->log.bad(s->log.arg, from, e);
}

void
server_hear_other(struct server *s, const uint8_t from[4])
{
	if (server_count(&s->counters, COUNT_OTHERS, 1) == 1 && s->log.other != NULL)
		s->log.other(s->log.arg, from);
}

void
server_content(struct server *s, uint32_t chunk, uint32_t blocks)
{
	assert(chunk < s->image.chunks && blocks <= WIRE_CHUNK_BLOCKS);
	/* Of an empty chunk one block is sent, so that clients learn that it is empty.
	 */
	server_mtu_learn(&s->mtu, chunk, blocks + (blocks == 0));
}

void
server_set_order(struct server *s, struct wirext_run *runs, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		assert(runs[i].chunk < s->image.chunks && runs[i].count > 0 &&
		       (uint32_t)runs[i].first + runs[i].count <=
			   server_chunk_blocks(s, runs[i].chunk));
	server_order_set(&s->order, runs, n);
	if (s->members.waiting > 0)
		server_begin_order(s);
}

void
server_data_limit(struct server *s, uint32_t blocks)
{
	assert(blocks > 0);
	server_mtu_limit(&s->mtu, blocks);
}

void
server_image_changed(struct server *s)
{
	server_announce_stale(&s->announce);
}

void
server_set_now(struct server *s, uint64_t now_us)
{
	s->now_us = now_us;
}

void
server_input(struct server *s, uint64_t now_us, const void *pkt, size_t len,
    const uint8_t from[4])
{
	struct wire_msg m;
	struct err e;

	server_set_now(s, now_us);
	if (wirext_is(pkt, len)) {
		server_ext_input(s, now_us, pkt, len, from);
		return;
	}
	if (wire_get(&m, pkt, len, &e) != 0) {
		if (e.kind != ERR_UNSUPPORTED)
			server_bad_packet(s, from, &e);
		return;
	}
	if (!wire_source_is(&m, from)) {
		err_set(&e, ERR_FORMAT, "packet claims to come from %u.%u.%u.%u",
		    m.srcip[0], m.srcip[1], m.srcip[2], m.srcip[3]);
		server_bad_packet(s, from, &e);
		return;
	}
	if (m.type != WIRE_REQUEST || m.subtype == WIRE_BLOCK) {
		if (memcmp(from, s->cfg.srcip, 4) != 0)
			server_hear_other(s, from);
		return;
	}
	switch (m.subtype) {
	case WIRE_JOIN:
		server_handle_join(s, now_us, &m, pkt, len);
		break;
	case WIRE_JOIN2:
		server_handle_join2(s, now_us, &m);
		break;
	case WIRE_LEAVE:
	case WIRE_LEAVE2:
		server_client_left(s, now_us, &m);
		break;
	case WIRE_REQ:
		server_handle_request(s, now_us, &m);
		break;
	case WIRE_PREQ:
		server_handle_prequest(s, now_us, &m);
		break;
	default:
		break;
	}
}

uint64_t
server_ends_us(const struct server *s)
{
	if (!server_is_quiet(s) || s->growing.wanted > 0 || s->urgent.n > 0 ||
	    s->urgent_slots.used > 0 ||
	    server_replies_at(&s->replies) != SERVER_NEVER)
		return SERVER_NEVER;
	return server_life_ends_us(&s->life, server_members_count(&s->members));
}

bool
server_done(const struct server *s, uint64_t now_us)
{
	return now_us >= server_ends_us(s);
}
