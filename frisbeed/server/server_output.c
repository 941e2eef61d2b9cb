/* server_output.c: what is sent next.  It asks the parts in a fixed order.  The shell
 * calls server_output(), in the engine's only thread, until there is nothing more to
 * send, and then waits until server_deadline(). */
#include "frisbeed/server/server_impl.h"

#include <string.h>

/* The pause before a time signal, in blocks, and its longest time: bursts are single blocks at 100
 * Mbit/s, and a full link takes at least one of two. */
enum { STAMP_REST = 2, STAMP_REST_US = 1000 };

static bool
stamp_is_due(const struct server *s, uint64_t now_us)
{
	return s->cfg.dynamic && s->announce.used &&
	       server_stamps_due(
		   &s->stamps, now_us, server_sent_all(&s->sent), s->rate.deaf_till);
}

static bool
say_stamp(struct server *s, uint64_t now_us, struct server_out *out)
{
	uint64_t sent = server_sent_all(&s->sent);
	struct wirext_msg m;

	if (!stamp_is_due(s, now_us))
		return false;
	server_stamps_say(&s->stamps, now_us, sent, s->rate.epoch, &m);
	server_send_ext(s, &m, out);
	return true;
}

static void
note_sent(struct server *s, uint32_t chunk, uint32_t block)
{
	server_scheduled_changed(&s->scheduled, chunk);
	server_sent_block(&s->sent, s->now_us, chunk, block);
}

/* The most blocks of the run that one DATA packet may have; 0: the run is sent as
 * packets of the base protocol. */
static uint32_t
data_size(const struct server *s, const struct server_slot *slot)
{
	return slot->parity || slot->plain ? 0 : s->mtu.now;
}

/* Send blocks of a run: one block in a packet of the base protocol (size 0), or up to
 * `size` blocks in a DATA packet. */
static void
put_blocks(struct server *s, uint32_t size, struct server_out *out)
{
	const struct server_slot *slot = server_slots_first(&s->slots);
	uint32_t chunk = slot->run.chunk, block = slot->run.first + slot->at;
	uint32_t end = slot->run.first + slot->run.count, n = 1;

	out->content = server_mtu_content(&s->mtu, chunk);
	if (size > 0) {
		end = end < out->content ? end : out->content;
		n = size < end - block ? size : end - block;
	}
	if (slot->at == 0)
		server_sent_run(&s->sent, chunk, block, slot->run.count);
	n = pace_spend(&s->pace, s->now_us, n);
	out->kind = size > 0 ? SERVER_OUT_DATA : SERVER_OUT_BLOCK;
	out->buf = slot->run.buf;
	out->at = slot->at;
	out->chunk = chunk;
	out->block = block;
	out->count = n;
	for (uint32_t i = 0; i < n; i++)
		note_sent(s, chunk, block + i);
	server_queue_sent(&s->queue, chunk, block, n);
	out->run_ends = server_slots_spend(&s->slots, n);
	server_count(&s->counters, COUNT_DATA_PACKETS, size > 0);
	server_count(&s->counters, COUNT_BYTES,
	    WIRE_BLOCK_HEADER_BYTES + n * WIRE_BLOCK_BYTES);
}

/* Is the rest of the first run the empty end of a chunk, which all clients know? */
static bool
leave_out_end(struct server *s)
{
	const struct server_slot *slot = server_slots_first(&s->slots);

	if (slot == NULL || !slot->ready || data_size(s, slot) == 0)
		return false;
	uint32_t chunk = slot->run.chunk, block = slot->run.first + slot->at;
	if (block < server_mtu_content(&s->mtu, chunk))
		return false;
	uint32_t n = slot->run.count - slot->at;
	server_queue_sent(&s->queue, chunk, block, n);
	server_count(&s->counters, COUNT_LEFT_OUT, n);
	server_slots_spend(&s->slots, n);
	return true;
}

/* Send a parity block of the next group that needs one. */
static void
put_parity(struct server *s, struct server_out *out)
{
	const struct server_slot *slot = server_slots_first(&s->slots);

	pace_spend(&s->pace, s->now_us, 1);
	out->kind = SERVER_OUT_PARITY;
	out->buf = slot->run.buf;
	out->chunk = slot->run.chunk;
	out->group = server_slots_spend_parity(&s->slots, &out->run_ends);
	out->content = server_mtu_content(&s->mtu, out->chunk);
	out->index = repair_sent(&s->repair, out->chunk, out->group);
	server_sent_parity(&s->sent, s->now_us);
	server_count(&s->counters, COUNT_BYTES, WIRE_BLOCK_PACKET_BYTES);
}

/* Blocks that somebody waits for, as many as fit into a packet. */
static void
put_urgent(struct server *s, struct server_out *out)
{
	const struct server_slot *slot = server_slots_first(&s->urgent_slots);
	uint32_t most = s->mtu.now > 0 ? s->mtu.now : 1;
	uint32_t n = slot->run.count - slot->at;

	out->kind = SERVER_OUT_URGENT;
	out->buf = slot->run.buf;
	out->at = slot->at;
	out->chunk = slot->run.chunk;
	out->block = slot->run.first + slot->at;
	out->count = pace_spend(&s->pace, s->now_us, n < most ? n : most);
	/* Blocks of the empty end of a chunk are sent, too, when a client asks for them.
	 */
	out->content = server_mtu_content(&s->mtu, out->chunk);
	if (out->block + out->count > out->content)
		out->content = server_chunk_blocks(s, out->chunk);
	out->run_ends = server_slots_spend(&s->urgent_slots, out->count);
	struct wirext_run went = { out->chunk, (uint16_t)out->block, (uint16_t)out->count };
	server_urgent_went(&s->urgent, s->now_us, &went);
	server_order_went(&s->order, &went);
	server_count(&s->counters, COUNT_BYTES,
	    WIREXT_DATA_HEADER_BYTES + out->count * WIRE_BLOCK_BYTES);
}

/* Does URGENT_DATA go next?  It does while its allowance lasts, and when nothing else
 * waits. */
static bool
urgent_goes(const struct server *s)
{
	return server_slots_ready(&s->urgent_slots) &&
	       (server_urgent_may(&s->urgent) > 0 || !server_slots_ready(&s->slots));
}

/* When the next block may go, and the time signal before it, which waits until a full queue has
 * room: otherwise it would be lost as blocks are, and clients would tell late what they lose. */
static uint64_t
paced_at(const struct server *s, uint64_t now_us)
{
	uint64_t paced = pace_deadline_us(&s->pace, now_us);
	uint64_t rest_us = pace_rest_us(&s->pace, STAMP_REST);
	uint64_t rested = s->sent.last_us + (rest_us < STAMP_REST_US ? rest_us : STAMP_REST_US);

	return stamp_is_due(s, now_us) && rested > paced ? rested : paced;
}

static uint64_t
block_at(const struct server *s, uint64_t now_us)
{
	uint64_t paced = paced_at(s, now_us);
	uint64_t begins = server_life_begins_us(&s->life);

	if (s->announce.stale ||
	    (!server_slots_ready(&s->slots) && !server_slots_ready(&s->urgent_slots)))
		return SERVER_NEVER;
	return paced > begins ? paced : begins;
}

static uint32_t
slot_blocks(const struct server_out *out)
{
	return out->kind == SERVER_OUT_PARITY ? 1 : out->count;
}

/* Send a block, a parity block, or the time signal that is due before it. */
static bool
say_block(struct server *s, uint64_t now_us, struct server_out *out)
{
	while (leave_out_end(s))
		;
	if (block_at(s, now_us) > now_us)
		return false;
	if (say_stamp(s, now_us, out))
		return true;
	server_judge_rate(s, now_us);
	if (block_at(s, now_us) > now_us)
		return false;
	if (urgent_goes(s)) {
		put_urgent(s, out);
		return true;
	}
	const struct server_slot *slot = server_slots_first(&s->slots);
	if (slot->parity)
		put_parity(s, out);
	else
		put_blocks(s, data_size(s, slot), out);
	server_urgent_others_went(&s->urgent, slot_blocks(out));
	return true;
}

/* When parity may be read.  If no buffer is free, time does not matter: the shell asks
 * again when one becomes free. */
static uint64_t
parity_at(const struct server *s, uint64_t now_us)
{
	(void)now_us;
	if (s->announce.stale || !server_slots_takes_parity(&s->slots))
		return SERVER_NEVER;
	return server_parity_due_us(s);
}

static uint64_t
end_at(const struct server *s, uint64_t now_us)
{
	(void)now_us;
	return s->announce.stale ? SERVER_NEVER : server_ends_us(s);
}

/* The speakers, in the order in which they are asked: short and rare messages come
 * before blocks. The last two never send anything, but at their times the shell has to
 * call the engine. */
static const struct voice {
	/* When say() will have something, or the shell has to call the engine;
	 * SERVER_NEVER: not before something is heard or read. */
	uint64_t (*at)(const struct server *, uint64_t now_us);
	/* Fill in what is to be sent now.  Returns false if there is nothing. */
	bool (*say)(struct server *, uint64_t now_us, struct server_out *);
} voices[] = {
	{ server_reply_at, server_say_reply },
	{ server_state_at, server_say_state },
	{ server_mtu_probe_at, server_say_mtu_probe },
	{ block_at, say_block },
	{ parity_at, NULL },
	{ end_at, NULL },
};

enum { VOICES = sizeof voices / sizeof voices[0] };

bool
server_output(struct server *s, uint64_t now_us, struct server_out *out)
{
	out->kind = SERVER_OUT_NONE;
	server_set_now(s, now_us);
	server_members_forget(&s->members, now_us, s->sent.last_us);
	for (unsigned i = 0; i < VOICES; i++)
		if (voices[i].say != NULL && voices[i].say(s, now_us, out))
			return true;
	return false;
}

bool
server_has_blocks(const struct server *s)
{
	return block_at(s, s->now_us) != SERVER_NEVER;
}

uint64_t
server_deadline(const struct server *s, uint64_t now_us)
{
	uint64_t least = SERVER_NEVER;

	for (unsigned i = 0; i < VOICES; i++) {
		uint64_t at = voices[i].at(s, now_us);
		least = at < least ? at : least;
	}
	return least > now_us ? least : now_us;
}
