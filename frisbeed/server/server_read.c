/* server_read.c: what the shell reads next: blocks that the carousel or old requests
 * want, or a chunk of which parity is made.  The shell asks as long as it has a free
 * buffer. */
#include "frisbeed/server/server_impl.h"

/* Half a chunk: when old requests want more of it at once, it is sent much like one of the
 * carousel: it takes turns with that, and has parity behind it. */
enum { LARGE_REQUEST = WIRE_CHUNK_BLOCKS / 2 };

/* How many blocks may go on somebody's word.  Old requests that wait do not count when
 * the carousel goes before them: they may be many, and always there. */
static uint64_t
room(const struct server *s)
{
	uint64_t pending = server_queue_empty(&s->queue) ? server_pending(s) : 0;

	return server_credit_room(&s->credit, server_sent_all(&s->sent) + pending);
}

/* Without a pace no more goes than somebody said to have room for: the rest of the
 * chunk waits. */
static struct blockmap
fit(struct server *s, uint32_t chunk, const struct blockmap *want)
{
	struct blockmap now = server_unpaced(s) ? blockmap_first(want, room(s)) : *want;
	struct blockmap rest = blockmap_minus(*want, &now);

	if (!blockmap_empty(&rest))
		carousel_put_back(&s->carousel, chunk, &rest);
	return now;
}

/* The next chunk that somebody wants, before all that waits or behind it. */
static void
take_next(struct server *s, bool first)
{
	struct blockmap want;
	uint32_t chunk;

	if (!carousel_next(&s->carousel, &chunk, &want))
		return;
	server_shares_carousel(&s->shares);
	server_given_changed(&s->given, chunk);
	want = server_queue_lacks(&s->queue, chunk, &want);
	want = fit(s, chunk, &want);
	if (!server_queue_add(&s->queue, chunk, &want, first))
		return; /* no memory: it will be wanted again */
	if (!carousel_is_split(&s->carousel, chunk))
		server_chunk_given(s, chunk);
}

/* The carousel gives out the next chunk when no request waits, or when it has a turn;
 * with it, the chunks that take turns with this one. */
static void
turn_carousel(struct server *s)
{
	bool waits = !server_queue_empty(&s->queue) && s->shares.carousel_turns == 0;

	if (waits || room(s) == 0)
		return;
	uint32_t chunk = carousel_peek(&s->carousel);
	take_next(s, true);
	if (!server_in_sets(s))
		return;
	for (uint32_t next = chunk;
	     (next = carousel_peek(&s->carousel)) != s->image.chunks && next > chunk &&
	     server_same_set(chunk, next);)
		take_next(s, false);
}

/* Is part of a chunk given out, and will the next run be more of it?  What came in
 * between would look like the end of it to the clients. */
static bool
within_chunk(const struct server *s)
{
	if (server_queue_empty(&s->queue))
		return carousel_wants_rest(&s->carousel) && room(s) > 0;
	return server_queue_within(&s->queue, server_in_sets(s));
}

/* Does nobody want anything but what is late? */
static bool
may_be_late(const struct server *s)
{
	return server_queue_empty(&s->queue) && s->carousel.wanted == 0;
}

/* It is paid for as blocks are, by what somebody can take; and while blocks are wanted,
 * also when they are held back, it is no more than they are. */
static bool
parity_may_go(const struct server *s)
{
	return s->announce.used && s->cfg.ext.parity &&
	       (room(s) > 0 || s->credit.owed > 0 || server_unpaced(s)) &&
	       (may_be_late(s) || server_shares_parity_may(&s->shares));
}

uint64_t
server_parity_due_us(const struct server *s)
{
	if (!parity_may_go(s))
		return SERVER_NEVER;
	return may_be_late(s) && s->repair.nlate > 0 ? 0
	                                                 : repair_due_us(&s->repair);
}

/* Parity of a chunk that lacks somewhere, or that was just given out. */
static bool
read_for_parity(struct server *s, struct server_run *run)
{
	uint32_t chunk;
	uint8_t count[WIREXT_GROUPS];

	if (!server_slots_takes_parity(&s->slots) ||
	    (!repair_next(&s->repair, s->now_us, &chunk, count) &&
		!(may_be_late(s) && repair_next_late(&s->repair, &chunk, count))))
		return false;
	*run = *server_slots_add_parity(&s->slots, chunk, count);
	uint32_t blocks = 0;
	for (unsigned g = 0; g < WIREXT_GROUPS; g++)
		blocks += count[g];
	server_shares_parity(&s->shares, blocks);
	server_credit_pay(&s->credit, blocks, server_unpaced(s));
	return true;
}

/* Old requests have had a chunk's time: now the others have theirs, as many of them as
 * there are to each that asks so. */
static void
give_turns(struct server *s)
{
	server_shares_turns(&s->shares, voters_to_each_asker(&s->voters, s->now_us));
}

/* All of a chunk's blocks were given out.  Large old requests and the carousel take
 * turns. */
static void
finish_chunk(struct server *s, const struct server_queue_run *run)
{
	bool rest = carousel_is_split(&s->carousel, run->chunk);
	bool large = run->bulk >= LARGE_REQUEST && !rest;

	if (large && run->asked)
		give_turns(s);
	if (large && s->roll.ext > 0 && s->cfg.ext.parity)
		repair_add_unasked(&s->repair, run->chunk, s->now_us, s->roll.ext);
}

/* Blocks of an old request are given out: the carousel need not send them, too. */
static void
take_over(struct server *s, uint32_t chunk, const struct blockmap *given)
{
	if (!carousel_wants(&s->carousel, chunk))
		return;
	carousel_remove(&s->carousel, chunk, given);
	if (!carousel_wants(&s->carousel, chunk))
		server_chunk_given(s, chunk);
}

/* Blocks are given out: the turns of old requests and the carousel follow from that. */
static void
give_run(struct server *s, const struct server_queue_run *run)
{
	struct blockmap taken = blockmap_range(run->first, run->count);

	if (run->asked && s->announce.used)
		take_over(s, run->chunk, &taken);
	if (server_shares_blocks(&s->shares, run->count, run->asked))
		give_turns(s);
}

bool
server_read_next(struct server *s, struct server_run *run)
{
	if (server_slots_full(&s->slots))
		return false;
	bool within = within_chunk(s);
	if (!within && parity_may_go(s) && read_for_parity(s, run))
		return true;
	if (s->announce.used && (!within || server_queue_empty(&s->queue)))
		turn_carousel(s);
	struct server_queue_run next;
	if (!server_queue_next(
		&s->queue, s->cfg.run_blocks, server_in_sets(s), &next)) {
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
	server_slots_read(&s->slots, buf);
}
