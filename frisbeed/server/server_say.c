/* server_say.c: completes the messages that the parts want to send: with what they need
 * to know about the rest of the engine, and with the fields that all messages have.
 * server_output() calls this, in the engine's only thread. */
#include "frisbeed/server/server_impl.h"

#include <assert.h>
#include <string.h>

/* If wanted blocks have been held back for this long without a message, the clients
 * that wanted them may be gone: a client repeats its CREDIT within this time. */
enum { HELD_US = 1000000 };

/* Send a packet that has been put into out->pkt. */
void
server_send_packet(struct server *s, struct server_out *out, size_t len)
{
	assert(len > 0);
	out->kind = SERVER_OUT_PACKET;
	out->len = len;
	server_count(&s->counters, COUNT_BYTES, len);
}

/* Send a message of the extension that a part has built. */
void
server_send_ext(struct server *s, struct wirext_msg *m, struct server_out *out)
{
	m->session = s->cfg.ext.session;
	memcpy(m->srcip, s->cfg.srcip, 4);
	server_send_packet(s, out, wirext_put(m, out->pkt, sizeof out->pkt));
}

/* Append the extension's answer to a reply. */
static size_t
put_answer(const struct server *s, uint8_t *pkt, size_t len, size_t cap)
{
	struct wirext_answer a = {
		.flags = (s->cfg.ext.parity ? WIREXT_CAN_PARITY : 0) |
		         (server_unpaced(s) ? WIREXT_UNPACED : 0) | WIREXT_PROBES |
		         WIREXT_CAN_URGENT,
		.port = s->cfg.ext.port,
		.session = s->cfg.ext.session,
		.clients = s->members.ext
	};

	memcpy(a.identity, s->cfg.ext.identity, sizeof a.identity);
	return wirext_put_answer(pkt, len, cap, &a);
}

bool
server_say_reply(struct server *s, uint64_t now_us, struct server_out *out)
{
	struct wire_msg m;

	if (!server_replies_say(&s->replies, now_us, &s->image, &m))
		return false;
	memcpy(m.srcip, s->cfg.srcip, 4);
	size_t len = wire_put(&m, out->pkt, sizeof out->pkt);
	if (m.subtype == WIRE_JOIN && (s->announce.used || s->replies.probed))
		len = put_answer(s, out->pkt, len, sizeof out->pkt);
	server_send_packet(s, out, len);
	return true;
}

/* Will anything of the chunk still be sent?  For the chunk that is being sent now,
 * clients know which blocks have passed. */
static bool
is_coming(const struct server *s, uint32_t chunk)
{
	const struct server_slot *slot = server_slots_first(&s->slots);

	if (slot != NULL && server_slot_begun(slot) &&
	    (slot->run.chunk == chunk ||
		(server_is_interleaving(s) &&
		    server_same_interleave(slot->run.chunk, chunk))))
		return carousel_wants(&s->carousel, chunk);
	return carousel_wants(&s->carousel, chunk) ||
	       server_queue_passes(&s->queue, chunk) ||
	       repair_busy(&s->repair, chunk) ||
	       growing_awaits(&s->growing, chunk);
}

/* Is the session idle, as clients are told?  A client that lacks something of the last
 * chunk would wait for the next one for ever, if only clients that have left want that.
 */
static struct server_scene
scene(const struct server *s, uint64_t now_us)
{
	return (struct server_scene){ .clients = s->members.ext,
		.sent = server_sent_all(&s->sent),
		.idle = server_is_idle(s),
		.held = s->carousel.wanted > 0 && server_is_held(s),
		.silent = server_is_quiet(s) && now_us - s->life.asked_us > HELD_US,
		.interleave = server_is_interleaving(s) };
}

uint64_t
server_state_at(const struct server *s, uint64_t now_us)
{
	struct server_scene now = scene(s, now_us);

	return server_announce_at(&s->announce, now_us, &now);
}

bool
server_say_state(struct server *s, uint64_t now_us, struct server_out *out)
{
	struct server_scene now = scene(s, now_us);
	struct wirext_msg m;

	if (now_us < server_announce_at(&s->announce, now_us, &now))
		return false;
	uint8_t bits[WIREXT_MAP_CHUNKS / 8] = { 0 };
	struct wirext_map map = server_announce_map(&s->announce, s->image.chunks, bits);
	for (uint32_t i = 0; i < map.count; i++)
		if (is_coming(s, map.first + i))
			bits[i / 8] |= (uint8_t)(1 << i % 8);
	server_announce_say(&s->announce, now_us, &now, s->image.chunks, &map, &m);
	memcpy(m.u.state.identity, s->cfg.ext.identity, WIREXT_IDENTITY_BYTES);
	server_send_ext(s, &m, out);
	return true;
}

bool
server_say_mtu_probe(struct server *s, uint64_t now_us, struct server_out *out)
{
	struct wirext_msg m;

	if (s->announce.stale || !server_mtu_say(&s->mtu, now_us, &s->members, &m))
		return false;
	server_send_ext(s, &m, out);
	return true;
}

uint64_t
server_reply_at(const struct server *s, uint64_t now_us)
{
	(void)now_us;
	return server_replies_at(&s->replies);
}

uint64_t
server_mtu_probe_at(const struct server *s, uint64_t now_us)
{
	(void)now_us;
	return s->announce.stale ? SERVER_NEVER : server_mtu_at(&s->mtu);
}
