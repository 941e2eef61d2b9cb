/* client_pass.c: passes and silence.  The server sends one chunk after the other;
 * what a chunk lacks when the next one begins was lost.  If nothing arrives for too
 * long, what was requested will not come.  This file notifies the parts of both, in
 * the engine's only thread. */
#include "frisbee/client/client_ext_impl.h"

/* A pass of the chunk has ended: what it lacks now was lost. */
static void
settle(struct client *c, uint64_t now_us, uint32_t chunk)
{
	struct client_buffer *b = client_filling(c, chunk);

	client_chunks_unnote(&c->chunks, chunk, CHUNK_SKIPPED);
	if (b == NULL) {
		client_requests_lost(&c->requests, 0);
		client_credit_lost(&c->credit, c->position.received, 0);
		return;
	}
	struct blockmap lost = client_lack(b);
	client_requests_lost(&c->requests, blockmap_count(&lost));
	client_credit_lost(&c->credit, c->position.received, blockmap_count(&lost));
	if (blockmap_count(&lost) > WIRE_CHUNK_BLOCKS / 2)
		client_mtu_doubt(&c->mtu, now_us);
	client_nacked_unanswered(&b->nacked);
	client_nack_look(&c->nack);
	client_buffer_passed(
	    b, now_us, now_us + c->position.guard_us + client_jitter_us(c, now_us));
	client_schedule_by(&c->schedule, b->settled_us);
}

void
client_end_pass(struct client *c, uint64_t now_us)
{
	struct client_passed passed;

	if (!client_position_pass_ends(&c->position, now_us, &passed))
		return;
	client_chunks_pass_ends(&c->chunks, passed.chunk, c->position.begun);
	settle(c, now_us, passed.chunk);
	/* The passes of all chunks that were interleaved with it are over, too. */
	for (uint32_t i = passed.first; i - passed.first < passed.count; i++)
		if (i < c->chunks.n && i != passed.chunk)
			settle(c, now_us, i);
}

/* A block of a chunk whose pass was over has arrived.  If it is late, and was not
 * requested since, wait longer for such blocks from now on. */
static bool
is_straggler(struct client *c, uint64_t now_us, uint32_t chunk)
{
	struct client_buffer *b = client_filling(c, chunk);
	bool last = client_position_may_be_late(&c->position, now_us, chunk);
	bool filling = b != NULL && now_us < b->settled_us;

	if (client_chunks_is(&c->chunks, chunk, CHUNK_ASKED) || (!last && !filling))
		return false;
	if (filling && b->nacked.at_us > b->passed_us)
		return false;
	uint64_t late_us = now_us - (filling ? b->passed_us : c->position.last_us);
	client_position_straggler(&c->position, late_us);
	if (filling)
		client_buffer_settle(b, b->passed_us + c->position.guard_us);
	return true;
}

void
client_follow_stream(struct client *c, uint64_t now_us, uint32_t chunk)
{
	if (client_position_goes_on(&c->position, chunk) ||
	    is_straggler(c, now_us, chunk))
		return;
	client_end_pass(c, now_us);
	client_position_pass_begins(
	    &c->position, now_us, chunk, client_chunks_stamp(&c->chunks, now_us));
	if (client_chunks_pass_begins(&c->chunks, chunk))
		client_requests_moved(&c->requests, now_us);
}

/* What was requested will not come. */
void
client_presume_lost(struct client *c, uint64_t now_us)
{
	client_end_pass(c, now_us);
	client_bufs_settle_all(&c->bufs, now_us);
	client_chunks_forget(&c->chunks, now_us);
}

/* Nothing arrives any more, although something should.  With parity, a chunk's pass
 * ends when the server says so; only what requests asked for is requested again. */
void
client_go_idle(struct client *c, uint64_t now_us)
{
	if (c->session.on && c->session.parity)
		client_chunks_forget(&c->chunks, now_us);
	else
		client_presume_lost(c, now_us);
	client_counters_idle(&c->counters);
	client_requests_silence(&c->requests, now_us);
}
