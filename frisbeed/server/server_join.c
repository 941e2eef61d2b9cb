/* server_join.c: what clients want that join, and JOINs themselves.  server_input()
 * calls this for each JOIN; the messages of the extension, and a growing image, add
 * what is wanted, too. */
#include "frisbeed/server/server_impl.h"

#include <assert.h>

void
server_want_chunk(struct server *s, uint32_t chunk)
{
	struct blockmap want = blockmap_range(0, server_chunk_blocks(s, chunk));

	if (!growing_has(&s->growing, chunk)) {
		growing_want(&s->growing, chunk);
		return;
	}
	struct blockmap soon = server_queue_soon(&s->queue, chunk);
	want = blockmap_minus(want, &soon);
	carousel_add(&s->carousel, chunk, &want);
	/* All of it is on its way. */
	if (!carousel_wants(&s->carousel, chunk))
		server_chunk_given(s, chunk);
}

/* Who asked for it before it was here gets all of it. */
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

void
server_chunk_given(struct server *s, uint32_t chunk)
{
	server_given_out(&s->given, chunk);
	if (s->announce.used)
		repair_pass(&s->repair, chunk);
}

bool
server_has_given(
    const struct server *s, uint32_t chunk, const struct server_client *c)
{
	bool sent = server_sent_since(&s->sent, chunk, c->joined_ms);
	bool wanted = carousel_wants(&s->carousel, chunk);

	return server_given_since(&s->given, chunk, c->joined_in) || (sent && !wanted);
}

static void
want_all(struct server *s)
{
	uint32_t chunk;

	for (uint32_t i = 0; server_given_each(&s->given, i, &chunk); i++)
		server_want_chunk(s, chunk);
	server_given_settle(&s->given);
}

static void
join_ext(struct server *s, uint64_t now_us, uint32_t flags)
{
	if (server_is_idle(s))
		server_life_await(&s->life, now_us, pace_cap(&s->pace));
	server_announce_heard(&s->announce, now_us);
	server_credit_grant(&s->credit, server_sent_all(&s->sent), 0,
	    server_unpaced(s) ? WIREXT_JOIN_CREDIT_UNPACED : WIREXT_JOIN_CREDIT);
	/* How many they are makes a difference, and what a chunk's end is. */
	if ((s->roll.ext & (s->roll.ext - 1)) == 0 || server_in_sets(s))
		server_announce_now(&s->announce);
	if (!(flags & WIREXT_AGAIN))
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
	/* The original client aborts when it is told of part of a chunk, and takes no
	 * notice of the other kind of answer: that shows ours that this is a file. */
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
	if (!known && ext && (flags & WIREXT_AGAIN))
		server_roll_resumes(&s->roll, c);
	if (ext && (flags & WIREXT_NO_INTERLEAVING))
		server_roll_no_sets(&s->roll, c);
	if (ext)
		join_ext(s, now_us, flags);
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
