/* server_output.c: what is sent next: the parts are asked in a fixed order.  The shell
 * calls server_output() until there is nothing more, and then waits for
 * server_deadline(). */
#include "frisbeed/server/server_impl.h"

#include <string.h>

static bool
say_stamp(struct server *s, uint64_t now_us, struct server_out *out)
{
	uint64_t sent = server_sent_all(&s->sent);
	struct wirext_msg m;

	if (!s->cfg.dynamic || !s->announce.used ||
	    !server_stamps_due(&s->stamps, now_us, sent, s->rate.deaf_till))
		return false;
	server_stamps_say(&s->stamps, now_us, sent, s->rate.epoch, &m);
	server_send_ext(s, &m, out);
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
	server_count(&s->counters, COUNT_BYTES,
	    WIRE_BLOCK_HEADER_BYTES + n * WIRE_BLOCK_BYTES);
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
	out->index = repair_sent(&s->repair, out->chunk, out->group);
	server_sent_parity(&s->sent, s->now_us);
	server_count(&s->counters, COUNT_BYTES, WIRE_BLOCK_PACKET_BYTES);
}

static uint64_t
block_at(const struct server *s, uint64_t now_us)
{
	uint64_t paced = pace_deadline_us(&s->pace, now_us);
	uint64_t begins = server_life_begins_us(&s->life);

	if (s->announce.stale || !server_slots_ready(&s->slots))
		return SERVER_NEVER;
	return paced > begins ? paced : begins;
}

/* A block, parity, or the time signal that is due before it. */
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
	const struct server_slot *slot = server_slots_first(&s->slots);
	if (slot->parity)
		put_parity(s, out);
	else
		put_blocks(s, pack_size(s, slot), out);
	return true;
}

/* Parity may be read, if a buffer is free: that one becomes free is the shell's sign to
 * ask again, not the time. */
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

/* In the order in which they are asked: what is short and rare before the blocks.  The last
 * two say nothing, but the shell has to look at the engine then. */
static const struct voice {
	/* When say() will have something, or the shell should look; SERVER_NEVER: not
	 * before something is heard or read. */
	uint64_t (*at)(const struct server *, uint64_t now_us);
	/* What is to be sent now; false: nothing. */
	bool (*say)(struct server *, uint64_t now_us, struct server_out *);
} voices[] = {
	{ server_reply_at, server_say_reply },
	{ server_state_at, server_say_state },
	{ server_try_at, server_say_try },
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
	server_roll_forget(&s->roll, now_us, s->sent.last_us);
	for (unsigned i = 0; i < VOICES; i++)
		if (voices[i].say != NULL && voices[i].say(s, now_us, out))
			return true;
	return false;
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
