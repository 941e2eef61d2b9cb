#include "frisbeed/server/server_impl.h"

#include <assert.h>
#include <string.h>

uint64_t
server_state_due_us(const struct server *s)
{
	if (s->ext.state_pending)
		return 0;
	if (s->ext.stale)
		return s->ext.used ? s->ext.state_us + STATE_IDLE_US : SERVER_NEVER;
	if (s->ext.clients == 0 &&
	    (s->ext.heard_us == 0 || s->now_us - s->ext.heard_us > IDLE_PATIENCE_US))
		return SERVER_NEVER;
	/* Who lacks something now says so soon. */
	if (server_is_idle(s) && s->ext.idle_told != server_sent_all(&s->sent))
		return 0;
	if (server_in_sets(s) != s->ext.sets_told)
		return 0;
	if (s->ext.sets_again > 0)
		return s->ext.state_us + SETS_TOLD_US;
	bool often = server_is_idle(s) &&
	             s->now_us - s->ext.heard_us < IDLE_PATIENCE_US;
	return s->ext.state_us + (often ? STATE_IDLE_US : STATE_US);
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

static void
note_sets_told(struct server *s)
{
	bool sets = server_in_sets(s);

	if (sets != s->ext.sets_told)
		s->ext.sets_again = SETS_TOLD;
	s->ext.sets_told = sets;
	s->ext.sets_again -= s->ext.sets_again > 0;
}

void
server_put_state(struct server *s, uint64_t now_us, struct server_out *out)
{
	struct wirext_msg m = { .kind = WIREXT_STATE, .session = s->cfg.ext.session };
	uint8_t bits[WIREXT_MAP_CHUNKS / 8] = { 0 };
	uint32_t first = s->ext.state_first, n = s->image.chunks - first;

	n = n < WIREXT_MAP_CHUNKS ? n : WIREXT_MAP_CHUNKS;
	for (uint32_t i = 0; i < n; i++)
		if (is_coming(s, first + i))
			bits[i / 8] |= (uint8_t)(1 << i % 8);
	memcpy(m.srcip, s->cfg.srcip, 4);
	memcpy(m.u.state.identity, s->cfg.ext.identity, WIREXT_IDENTITY_BYTES);
	/* Who lacks something of the last chunk would wait for the next one for ever,
	 * if that is wanted only by some that have left. */
	bool held = server_is_quiet(s) && now_us - s->asked_us > HELD_US;
	m.u.state.flags = (server_is_idle(s) || held ? WIREXT_IDLE : 0) |
	                  (s->ext.stale ? WIREXT_STALE : 0) |
	                  (server_in_sets(s) ? WIREXT_IN_SETS : 0);
	m.u.state.clients = s->ext.clients;
	m.u.state.chunks = s->image.chunks;
	m.u.state.coming = (struct wirext_map){ first, n, bits };
	s->ext.state_first = first + n < s->image.chunks ? first + n : 0;
	s->ext.state_pending = false;
	note_sets_told(s);
	s->ext.idle_told = server_is_idle(s) ? server_sent_all(&s->sent) : SERVER_NEVER;
	s->ext.state_us = now_us;
	out->kind = SERVER_OUT_PACKET;
	out->len = wirext_put(&m, out->pkt, sizeof out->pkt);
	assert(out->len > 0);
	s->stats.bytes_sent += out->len;
}

bool
server_stamp_due(const struct server *s, uint64_t now_us)
{
	return s->cfg.dynamic && s->ext.used && server_sent_all(&s->sent) != s->stamp_sent &&
	       (now_us >= s->stamp_us + RATE_STAMP_US ||
		   s->stamp_epoch < s->rate.deaf_till);
}

void
server_put_stamp(struct server *s, uint64_t now_us, struct server_out *out)
{
	struct wirext_msg m = { .kind = WIREXT_TIME, .session = s->cfg.ext.session };

	memcpy(m.srcip, s->cfg.srcip, 4);
	m.u.time.epoch = s->stamp_epoch = s->rate.epoch;
	m.u.time.sent = s->stamp_sent = server_sent_all(&s->sent);
	m.u.time.time_us = s->stamp_us = now_us;
	out->kind = SERVER_OUT_PACKET;
	out->len = wirext_put(&m, out->pkt, sizeof out->pkt);
	assert(out->len > 0);
	s->stats.bytes_sent += out->len;
}
