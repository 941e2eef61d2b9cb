#include "frisbeed/server/server_impl.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void
server_follow_rate(struct server *s)
{
	pace_set(&s->pace, s->rate.now);
	if (s->rate.steps > 0)
		pace_scatter(&s->pace, s->now_us << 32 | s->cfg.ext.session | 1);
}

void
server_rate_to_burst(uint64_t bits_per_s, uint32_t *burst, uint64_t *gap_us)
{
	const uint64_t cost = (uint64_t)WIRE_BLOCK_COST_BITS *
	                      1000; /* of one in 1 ms */

	assert(bits_per_s > 0);
	if (bits_per_s > UINT32_MAX * cost / 100)
		bits_per_s = UINT32_MAX * cost / 100;
	/* The shortest gap in whole milliseconds whose whole number of blocks is
	 * at most 1 % below the rate, and never above it. */
	for (uint64_t ms = (cost - 1) / bits_per_s + 1;; ms++) {
		uint64_t blocks = bits_per_s * ms / cost;
		if (blocks * cost * 100 >= bits_per_s * ms * 99) {
			*burst = (uint32_t)blocks;
			*gap_us = ms * 1000;
			return;
		}
	}
}

void
server_set_rate(struct server *s, uint64_t bits_per_s)
{
	double per_s = (double)bits_per_s / WIRE_BLOCK_COST_BITS;

	pace_limit(&s->pace, per_s);
	rate_limit(&s->rate, per_s);
	if (s->cfg.dynamic && s->rate.begun)
		server_follow_rate(s);
}

void
server_trust_rate(struct server *s, uint64_t bits_per_s)
{
	rate_trust(&s->rate, (double)bits_per_s / WIRE_BLOCK_COST_BITS);
	if (s->cfg.dynamic && s->rate.begun)
		server_follow_rate(s);
}

/* A packet that has been put is to be sent. */
static void
send_packet(struct server *s, struct server_out *out, size_t len)
{
	assert(len > 0);
	out->kind = SERVER_OUT_PACKET;
	out->len = len;
	server_count(&s->counters, COUNT_BYTES, len);
}

/* A message of the extension that a part wants to say. */
static void
send_ext(struct server *s, struct wirext_msg *m, struct server_out *out)
{
	m->session = s->cfg.ext.session;
	memcpy(m->srcip, s->cfg.srcip, 4);
	send_packet(s, out, wirext_put(m, out->pkt, sizeof out->pkt));
}

/* The extension's answer goes behind a reply. */
static size_t
put_answer(const struct server *s, uint8_t *pkt, size_t len, size_t cap)
{
	struct wirext_answer a = {
		.flags = (s->cfg.ext.parity ? WIREXT_CAN_PARITY : 0) |
		         (server_unpaced(s) ? WIREXT_UNPACED : 0) | WIREXT_PROBES,
		.port = s->cfg.ext.port,
		.session = s->cfg.ext.session,
		.clients = s->roll.ext
	};

	memcpy(a.identity, s->cfg.ext.identity, sizeof a.identity);
	return wirext_put_answer(pkt, len, cap, &a);
}

static bool
say_reply(struct server *s, uint64_t now_us, struct server_out *out)
{
	struct wire_msg m;

	if (!server_replies_say(&s->replies, now_us, &s->image, &m))
		return false;
	memcpy(m.srcip, s->cfg.srcip, 4);
	size_t len = wire_put(&m, out->pkt, sizeof out->pkt);
	if (m.subtype == WIRE_JOIN && (s->announce.used || s->replies.probed))
		len = put_answer(s, out->pkt, len, sizeof out->pkt);
	send_packet(s, out, len);
	return true;
}

/* Is anything of the chunk still to be sent?  Of the one that is being sent now,
 * everybody knows what has gone by. */
static bool
is_coming(const struct server *s, uint32_t chunk)
{
	const struct server_slot *slot = server_slots_first(&s->slots);

	if (slot != NULL && server_slot_begun(slot) &&
	    (slot->run.chunk == chunk ||
		(server_in_sets(s) && server_same_set(slot->run.chunk, chunk))))
		return carousel_wants(&s->ext.carousel, chunk);
	return carousel_wants(&s->ext.carousel, chunk) || server_queue_has(&s->queue, chunk) ||
	       repair_busy(&s->ext.repair, chunk) ||
	       growing_awaits(&s->growing, chunk);
}

/* What clients are told of: a client that lacks something of the last chunk would wait
 * for the next one for ever, if that is wanted only by some that have left. */
static struct server_scene
scene(const struct server *s, uint64_t now_us)
{
	return (struct server_scene){ .clients = s->roll.ext,
		.sent = server_sent_all(&s->sent),
		.idle = server_is_idle(s),
		.held = server_is_quiet(s) && now_us - s->life.asked_us > HELD_US,
		.in_sets = server_in_sets(s) };
}

uint64_t
server_state_due_us(const struct server *s, uint64_t now_us)
{
	struct server_scene now = scene(s, now_us);

	return server_announce_at(&s->announce, now_us, &now);
}

static bool
say_state(struct server *s, uint64_t now_us, struct server_out *out)
{
	uint8_t bits[WIREXT_MAP_CHUNKS / 8] = { 0 };
	struct server_scene now = scene(s, now_us);
	struct wirext_msg m;

	if (now_us < server_announce_at(&s->announce, now_us, &now))
		return false;
	struct wirext_map map = server_announce_map(&s->announce, s->image.chunks, bits);
	for (uint32_t i = 0; i < map.count; i++)
		if (is_coming(s, map.first + i))
			bits[i / 8] |= (uint8_t)(1 << i % 8);
	server_announce_say(&s->announce, now_us, &now, s->image.chunks, &map, &m);
	memcpy(m.u.state.identity, s->cfg.ext.identity, WIREXT_IDENTITY_BYTES);
	send_ext(s, &m, out);
	return true;
}

static bool
say_try(struct server *s, uint64_t now_us, struct server_out *out)
{
	struct wirext_msg m;

	if (!server_packs_say(&s->packs, now_us, &s->roll, &m))
		return false;
	send_ext(s, &m, out);
	return true;
}

static bool
say_stamp(struct server *s, uint64_t now_us, struct server_out *out)
{
	uint64_t sent = server_sent_all(&s->sent);
	struct wirext_msg m;

	if (!s->cfg.dynamic || !s->announce.used ||
	    !server_stamps_due(&s->stamps, now_us, sent, s->rate.deaf_till))
		return false;
	server_stamps_say(&s->stamps, now_us, sent, s->rate.epoch, &m);
	send_ext(s, &m, out);
	return true;
}

static void
note_sent(struct server *s, uint32_t chunk, uint32_t block)
{
	server_given_changed(&s->given, chunk);
	server_sent_block(&s->sent, s->now_us, chunk, block);
}

/* How many blocks of the run go out in one packet at most; 0: as packets of the base
 * protocol. */
static uint32_t
pack_size(const struct server *s, const struct server_slot *slot)
{
	return slot->parity || slot->plain ? 0 : s->packs.now;
}

/* Blocks of a run: one of the base protocol's packets, or up to `size` in one. */
static void
put_blocks(struct server *s, uint32_t size, struct server_out *out)
{
	const struct server_slot *slot = server_slots_first(&s->slots);
	uint32_t chunk = slot->run.chunk, block = slot->run.first + slot->at;
	uint32_t end = slot->run.first + slot->run.count, n = 1;

	out->content = server_packs_content(&s->packs, chunk);
	if (size > 0) {
		end = end < out->content ? end : out->content;
		n = size < end - block ? size : end - block;
	}
	if (slot->at == 0)
		server_sent_run(&s->sent, chunk, block, slot->run.count);
	n = pace_spend(&s->pace, s->now_us, n);
	out->kind = size > 0 ? SERVER_OUT_PACK : SERVER_OUT_BLOCK;
	out->buf = slot->run.buf;
	out->at = slot->at;
	out->chunk = chunk;
	out->block = block;
	out->count = n;
	for (uint32_t i = 0; i < n; i++)
		note_sent(s, chunk, block + i);
	server_queue_sent(&s->queue, chunk, block, n);
	out->run_ends = server_slots_spend(&s->slots, n);
	server_count(&s->counters, COUNT_PACKS, size > 0);
	server_count(&s->counters, COUNT_BYTES, WIRE_BLOCK_HEADER_BYTES + n * WIRE_BLOCK_BYTES);
}

/* What is left of the first run is the empty end of a chunk, and everybody knows. */
static bool
leave_out_end(struct server *s)
{
	const struct server_slot *slot = server_slots_first(&s->slots);

	if (slot == NULL || !slot->ready || pack_size(s, slot) == 0)
		return false;
	uint32_t chunk = slot->run.chunk, block = slot->run.first + slot->at;
	if (block < server_packs_content(&s->packs, chunk))
		return false;
	uint32_t n = slot->run.count - slot->at;
	server_queue_sent(&s->queue, chunk, block, n);
	server_count(&s->counters, COUNT_LEFT_OUT, n);
	server_slots_spend(&s->slots, n);
	return true;
}

/* A parity block of the next group that needs one. */
static void
put_parity(struct server *s, struct server_out *out)
{
	const struct server_slot *slot = server_slots_first(&s->slots);

	pace_spend(&s->pace, s->now_us, 1);
	out->kind = SERVER_OUT_PARITY;
	out->buf = slot->run.buf;
	out->chunk = slot->run.chunk;
	out->group = server_slots_spend_parity(&s->slots, &out->run_ends);
	out->content = server_packs_content(&s->packs, out->chunk);
	out->index = repair_sent(&s->ext.repair, out->chunk, out->group);
	server_sent_parity(&s->sent, s->now_us);
	server_count(&s->counters, COUNT_BYTES, WIRE_BLOCK_PACKET_BYTES);
}

static void
judge_rate(struct server *s, uint64_t now_us)
{
	if (s->cfg.dynamic &&
	    rate_judge(&s->rate, now_us, server_sent_all(&s->sent), s->roll.ext == 0))
		server_follow_rate(s);
}

uint64_t
server_block_due_us(const struct server *s, uint64_t now_us)
{
	uint64_t at = pace_deadline_us(&s->pace, now_us);

	uint64_t begins = server_life_begins_us(&s->life);

	return at > begins ? at : begins;
}

bool
server_output(struct server *s, uint64_t now_us, struct server_out *out)
{
	out->kind = SERVER_OUT_NONE;
	s->now_us = now_us;
	server_roll_forget(&s->roll, now_us, s->sent.last_us);
	if (say_reply(s, now_us, out))
		return true;
	if (say_state(s, now_us, out))
		return true;
	if (!s->announce.stale && say_try(s, now_us, out))
		return true;
	while (leave_out_end(s))
		;
	if (s->announce.stale || !server_slots_ready(&s->slots) ||
	    server_block_due_us(s, now_us) > now_us)
		return false;
	if (say_stamp(s, now_us, out))
		return true;
	judge_rate(s, now_us);
	if (server_block_due_us(s, now_us) > now_us)
		return false;
	const struct server_slot *slot = server_slots_first(&s->slots);
	if (slot->parity)
		put_parity(s, out);
	else
		put_blocks(s, pack_size(s, slot), out);
	return true;
}
