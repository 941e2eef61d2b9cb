/* server_read.c: what the shell reads next: blocks that the carousel or requests of the
 * base protocol want, or a chunk of which parity is made.  The shell asks, in the
 * engine's only thread, as long as it has a free buffer. */
#include "frisbeed/server/server_impl.h"

/* Half a chunk.  A request of the base protocol for more is treated like a chunk of the
 * carousel: it alternates with the carousel, and parity follows it. */
enum { LARGE_REQUEST = WIRE_CHUNK_BLOCKS / 2 };

enum {
	/* The time between the first NACK for a chunk and the parity that answers it.
	 * Other clients send their NACKs meanwhile, and one answer serves all.  With 20
	 * to 300 ms the time of a session changed by less than 0.5 %. */
	WINDOW_US = 100000,
	/* The same from the moment on at which nothing but parity is wanted: then nothing else is
	 * sent meanwhile, and the end of the session waits. */
	WINDOW_ALONE_US = 25000,
	/* Blocks of the order that are read at once: an eighth of the allowance, so that whoever
	 * waits for blocks that it has named waits for few others. */
	ORDER_BLOCKS = SERVER_URGENT_BURST / 8,
	/* The most pieces of the order that one call passes over because they have just
	 * been sent: as many as are remembered (server_urgent.h). */
	ORDER_LOOKS = SERVER_URGENT_GIVEN,
};

/* How many blocks the credit of the clients still allows.  Waiting requests of the base
 * protocol do not count when the carousel goes before them: there may always be many.
 */
static uint64_t
room(const struct server *s)
{
	uint64_t pending = server_queue_empty(&s->queue) ? server_pending(s) : 0;

	return server_credit_room(&s->credit, server_sent_all(&s->sent) + pending);
}

/* In an unpaced session, take only as many blocks of the chunk as the credit allows,
 * and put the rest back. */
static struct blockmap
fit(struct server *s, uint32_t chunk, const struct blockmap *want)
{
	struct blockmap now = server_unpaced(s) ? blockmap_first(want, room(s)) : *want;
	struct blockmap rest = blockmap_minus(*want, &now);

	if (!blockmap_empty(&rest))
		carousel_put_back(&s->carousel, chunk, &rest);
	return now;
}

/* Queue the next chunk of the carousel, in front of all that waits (first) or behind
 * it. */
static void
take_next(struct server *s, bool first)
{
	struct blockmap want;
	uint32_t chunk;

	if (!carousel_next(&s->carousel, &chunk, &want))
		return;
	server_shares_carousel(&s->shares);
	voters_gets(&s->voters, chunk);
	server_scheduled_changed(&s->scheduled, chunk);
	want = server_queue_lacks(&s->queue, chunk, &want);
	want = fit(s, chunk, &want);
	if (!server_queue_add(&s->queue, chunk, &want, first))
		return; /* no memory: clients will ask for the chunk again */
	if (!carousel_is_split(&s->carousel, chunk))
		server_chunk_scheduled(s, chunk);
}

/* Schedule the carousel's next chunk if no request waits or it is the carousel's turn,
 * and with it the chunks that are interleaved with it. */
static void
turn_carousel(struct server *s)
{
	bool waits = !server_queue_empty(&s->queue) && s->shares.carousel_turns == 0;

	if (waits || room(s) == 0)
		return;
	uint32_t chunk = carousel_peek(&s->carousel);
	take_next(s, true);
	if (!server_is_interleaving(s))
		return;
	for (uint32_t next = chunk;
	     (next = carousel_peek(&s->carousel)) != s->image.chunks && next > chunk &&
	     server_same_interleave(chunk, next);)
		take_next(s, false);
}

/* Is a part of a chunk scheduled, and will the next run continue it?  Anything in
 * between would look to the clients like the end of the chunk's pass. */
static bool
within_chunk(const struct server *s)
{
	if (server_queue_empty(&s->queue))
		return carousel_wants_rest(&s->carousel) && room(s) > 0;
	return server_queue_within(&s->queue, server_is_interleaving(s));
}

bool
server_wants_only_parity(const struct server *s)
{
	return server_queue_empty(&s->queue) && s->carousel.wanted == 0;
}

/* May parity be sent?  It needs credit, as blocks do; and while blocks are wanted, even
 * if they are held back, no more parity is sent than blocks. */
static bool
parity_may_go(const struct server *s)
{
	return s->announce.used && s->cfg.ext.parity &&
	       (room(s) > 0 || s->credit.owed > 0 || server_unpaced(s)) &&
	       (server_wants_only_parity(s) || server_shares_parity_may(&s->shares));
}

/* How long the first NACK of a chunk waits for those of other clients, as it is now: the wait that
 * began while blocks were wanted ends sooner when none are any more. */
static uint64_t
parity_window_us(const struct server *s)
{
	if (s->members.ext < 2)
		return 0;
	return server_wants_only_parity(s) ? WINDOW_ALONE_US : WINDOW_US;
}

uint64_t
server_parity_due_us(const struct server *s)
{
	if (!parity_may_go(s))
		return SERVER_NEVER;
	if (server_wants_only_parity(s) && s->repair.nlate > 0)
		return 0;
	return repair_due_us(&s->repair, parity_window_us(s));
}

/* Read a chunk for the parity that clients need, or for the proactive parity of a chunk
 * that was just scheduled. */
static bool
read_for_parity(struct server *s, struct server_run *run)
{
	uint32_t chunk;
	uint8_t count[WIREXT_GROUPS];

	if (!server_slots_takes_parity(&s->slots) ||
	    (!repair_next(&s->repair, s->now_us, parity_window_us(s), &chunk, count) &&
		!(server_wants_only_parity(s) &&
		    repair_next_late(&s->repair, &chunk, count))))
		return false;
	*run = *server_slots_add_parity(&s->slots, chunk, count);
	uint32_t blocks = 0;
	for (unsigned g = 0; g < WIREXT_GROUPS; g++)
		blocks += count[g];
	server_shares_parity(&s->shares, blocks);
	server_credit_pay(&s->credit, blocks, server_unpaced(s));
	return true;
}

static uint32_t
each_asker(const struct server *s)
{
	return voters_to_each_asker(&s->voters, s->now_us);
}

/* Requests of the base protocol have had the time of a chunk.  Now the carousel has its
 * turns: one for each client that does not use such requests, per client that does. */
static void
give_turns(struct server *s)
{
	server_shares_turns(&s->shares, each_asker(s));
}

/* All wanted blocks of a chunk were scheduled.  Large requests of the base protocol
 * alternate with the carousel. */
static void
finish_chunk(struct server *s, const struct server_queue_run *run)
{
	bool rest = carousel_is_split(&s->carousel, run->chunk);
	bool large = run->bulk >= LARGE_REQUEST && !rest;

	if (large && run->asked)
		give_turns(s);
	if (large && s->members.ext > 0 && s->cfg.ext.parity)
		repair_add_proactive(&s->repair, run->chunk, s->now_us, s->members.ext);
}

/* Blocks that a request of the base protocol wanted are scheduled: the carousel need
 * not send them, too. */
static void
take_over(struct server *s, uint32_t chunk, const struct blockmap *scheduled)
{
	if (!carousel_wants(&s->carousel, chunk))
		return;
	carousel_remove(&s->carousel, chunk, scheduled);
	if (carousel_wants(&s->carousel, chunk))
		return;
	voters_gets(&s->voters, chunk);
	server_chunk_scheduled(s, chunk);
}

/* A run of blocks is scheduled: count it for the alternation of requests and the
 * carousel. */
static void
give_run(struct server *s, const struct server_queue_run *run)
{
	struct blockmap taken = blockmap_range(run->first, run->count);

	if (run->asked && s->announce.used)
		take_over(s, run->chunk, &taken);
	if (server_shares_blocks(&s->shares, run->count, run->asked, each_asker(s)))
		give_turns(s);
}

/* May blocks of the order be read?  They may while no client waits for blocks that it has
 * named, and as long as a client that names some now finds half of the buffers and half
 * of the allowance free.  The allowance holds also when nothing else is to be sent: no
 * client has said that it can take all of the order, so the order must not come faster
 * than what clients have granted. */
static bool
order_may_go(const struct server *s)
{
	uint32_t taken = server_slots_left(&s->urgent_slots) + SERVER_URGENT_BURST / 2;

	return s->urgent.n == 0 && s->urgent_slots.used < SERVER_URGENT_BUFFERS / 2 &&
	       server_urgent_may(&s->urgent) > taken;
}

/* Ask for the next blocks of the order as a client would, under an address that no client
 * has.  Blocks that have just been sent to all are passed over. */
static void
ask_in_order(struct server *s)
{
	static const uint8_t nobody[4];
	struct wirext_run run;

	for (uint32_t i = 0; i < ORDER_LOOKS && s->urgent.n == 0 &&
	                     server_order_next(&s->order, ORDER_BLOCKS, &run);
	     i++)
		if (growing_has(&s->growing, run.chunk))
			server_urgent_ask(&s->urgent, s->now_us, nobody, &run);
}

/* Blocks for URGENT_DATA have buffers of their own.  They are read first, but while other
 * blocks are being read or wait to be sent, no more of them than the allowance. */
static bool
read_urgent(struct server *s, struct server_run *run)
{
	struct wirext_run next;
	bool others_wait = s->slots.used > 0;

	if (server_slots_full(&s->urgent_slots) ||
	    (others_wait && server_urgent_may(&s->urgent) <= server_slots_left(&s->urgent_slots)))
		return false;
	if (order_may_go(s))
		ask_in_order(s);
	if (!server_urgent_next(&s->urgent, s->cfg.run_blocks, &next))
		return false;
	*run = *server_slots_add(
	    &s->urgent_slots, next.chunk, next.first, next.count, false);
	return true;
}

static enum server_queue_order
order_of_chunks(const struct server *s)
{
	if (!server_is_interleaving(s))
		return SERVER_QUEUE_CHUNKS;
	return server_shares_old_may(&s->shares) ? SERVER_QUEUE_TURNS : SERVER_QUEUE_WANTED;
}

bool
server_read_next(struct server *s, struct server_run *run)
{
	if (read_urgent(s, run))
		return true;
	if (server_slots_full(&s->slots))
		return false;
	bool within = within_chunk(s);
	if (!within && parity_may_go(s) && read_for_parity(s, run))
		return true;
	if (s->announce.used && (!within || server_queue_empty(&s->queue)))
		turn_carousel(s);
	struct server_queue_run next;
	if (!server_queue_next(&s->queue, s->cfg.run_blocks, order_of_chunks(s), &next)) {
		if (s->carousel.wanted == 0)
			server_shares_only_parity(&s->shares);
		return parity_may_go(s) && read_for_parity(s, run);
	}
	give_run(s, &next);
	*run = *server_slots_add(
	    &s->slots, next.chunk, next.first, next.count, next.asked);
	if (next.ends)
		finish_chunk(s, &next);
	return true;
}

void
server_read_done(struct server *s, uint32_t buf)
{
	bool urgent = buf >= s->urgent_slots.first_buf;

	server_slots_read(urgent ? &s->urgent_slots : &s->slots, buf);
}
