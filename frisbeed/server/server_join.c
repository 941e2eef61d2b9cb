/* server_join.c: JOINs, and the chunks that joining clients want.  server_input() calls
 * this for each JOIN; messages of the extension, and an image that still arrives, add
 * chunks here, too.  All of this happens in the engine's only thread. */
#include "frisbeed/server/server_impl.h"

#include <assert.h>

/* The blocks of the chunk that a client which begins to listen now would not receive anyway. */
static struct blockmap
missed(const struct server *s, uint32_t chunk)
{
	struct blockmap all = blockmap_range(0, server_chunk_blocks(s, chunk));
	struct blockmap soon = server_queue_soon(&s->queue, chunk);

	return blockmap_minus(all, &soon);
}

uint32_t
server_wants_more(const struct server *s, uint32_t chunk)
{
	struct blockmap want = missed(s, chunk);

	if (!growing_has(&s->growing, chunk))
		return 0;
	if (carousel_wants(&s->carousel, chunk))
		want = blockmap_minus(want, s->carousel.want[chunk]);
	return blockmap_count(&want);
}

void
server_want_chunk(struct server *s, uint32_t chunk)
{
	struct blockmap want = missed(s, chunk);

	if (!growing_has(&s->growing, chunk)) {
		growing_want(&s->growing, chunk);
		return;
	}
	carousel_add(&s->carousel, chunk, &want);
	/* All of the chunk is on its way already. */
	if (!carousel_wants(&s->carousel, chunk))
		server_chunk_scheduled(s, chunk);
}

/* A chunk that was requested before it was here is sent completely. */
void
server_have(
    struct server *s, uint64_t now_us, uint32_t chunk, const struct blockmap *blocks)
{
	struct blockmap all = blockmap_range(0, server_chunk_blocks(s, chunk));

	assert(s->cfg.growing && chunk < s->image.chunks);
	if (!growing_have(&s->growing, chunk, blocks, server_chunk_blocks(s, chunk)))
		return;
	if (s->announce.used)
		server_want_chunk(s, chunk);
	else
		server_add_asked(s, chunk, &all);
	server_life_asked(&s->life, now_us);
}

bool
server_lacks(struct server *s, uint32_t *chunk)
{
	return s->cfg.growing && growing_next_ask(&s->growing, chunk);
}

void
server_chunk_scheduled(struct server *s, uint32_t chunk)
{
	server_scheduled_add(&s->scheduled, chunk);
	if (s->announce.used)
		repair_pass(&s->repair, chunk);
}

bool
server_has_scheduled(
    const struct server *s, uint32_t chunk, const struct server_client *c)
{
	bool sent = server_sent_since(&s->sent, chunk, c->joined_ms);
	bool wanted = carousel_wants(&s->carousel, chunk);

	return server_scheduled_since(&s->scheduled, chunk, c->cohort) ||
	       (sent && !wanted);
}

static void
want_all(struct server *s)
{
	uint32_t chunk;

	for (uint32_t i = 0; server_scheduled_each(&s->scheduled, i, &chunk); i++)
		server_want_chunk(s, chunk);
	server_scheduled_settle(&s->scheduled);
}

/* Does the client want everything, and may it?  If not, it says what it lacks. */
static bool
begins_anew(struct server *s, uint64_t now_us, const uint8_t ip[4], uint32_t flags)
{
	return !(flags & WIREXT_AGAIN) &&
	       voters_begin(&s->voters, ip, now_us, server_is_idle(s));
}

static void
join_ext(struct server *s, uint64_t now_us, bool anew)
{
	if (server_is_idle(s))
		server_life_await(&s->life, now_us, pace_cap(&s->pace));
	server_announce_heard(&s->announce, now_us);
	server_credit_grant(&s->credit, server_sent_all(&s->sent), 0,
	    server_unpaced(s) ? WIREXT_JOIN_CREDIT_UNPACED : WIREXT_JOIN_CREDIT);
	/* The number of clients, and whether chunks are interleaved, may have changed.
	 */
	if ((s->members.ext & (s->members.ext - 1)) == 0 || server_is_interleaving(s))
		server_announce_now(&s->announce);
	if (anew)
		want_all(s);
}

void
server_handle_join(struct server *s, uint64_t now_us, const struct wire_msg *m,
    const void *pkt, size_t len)
{
	uint32_t flags;
	bool ext = wirext_get_offer(pkt, len, &flags) && s->cfg.ext.on;

	if (s->announce.stale)
		return;
	/* Emulab's client aborts when the image's last chunk is incomplete, and ignores
	 * the other kind of answer, which tells clients of this suite that this is a
	 * file. */
	if (!s->cfg.whole_chunks) {
		server_replies_join2(&s->replies, m->u.join.clientid);
		return;
	}
	bool probe = ext && (flags & WIREXT_PROBES);
	server_replies_join(&s->replies, probe);
	if (probe)
		return;
	server_life_asked(&s->life, now_us);
	bool known;
	const struct server_client *c = server_client_joined(
	    s, m->srcip, m->u.join.clientid, ext, &known);
	if (!ext)
		return;
	bool anew = begins_anew(s, now_us, m->srcip, flags);
	if (!known && !anew)
		server_members_resumes(&s->members, c);
	if (flags & WIREXT_NO_INTERLEAVING)
		server_members_no_interleave(&s->members, c);
	join_ext(s, now_us, anew);
}

void
server_handle_join2(struct server *s, uint64_t now_us, const struct wire_msg *m)
{
	uint32_t id = m->u.join2.clientid;
	bool known;

	if (s->announce.stale)
		return;
	server_life_asked(&s->life, now_us);
	server_client_joined(s, m->srcip, id, false, &known);
	server_replies_join2(&s->replies, id);
}
