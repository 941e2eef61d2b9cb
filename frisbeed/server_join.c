#include "frisbeed/server_impl.h"

#include <string.h>

struct server_client *
server_find_client(struct server *s, const uint8_t ip[4], uint32_t id)
{
	for (uint32_t i = 0; i < s->stats.clients; i++)
		if (s->clients[i].id == id && memcmp(s->clients[i].ip, ip, 4) == 0)
			return &s->clients[i];
	return NULL;
}

struct server_client *
server_client_joined(struct server *s, const uint8_t ip[4], uint32_t id, bool ext)
{
	struct server_client *c = NULL;

	s->stats.joins++;
	if (server_find_client(s, ip, id) != NULL)
		return NULL; /* its last join or our reply was lost */
	s->joined_us = s->now_us;
	if (s->stats.clients < SERVER_CLIENTS_MAX) {
		c = &s->clients[s->stats.clients++];
		memcpy(c->ip, ip, 4);
		c->id = id;
		c->ext = ext;
		c->no_sets = false;
		s->ext.clients += ext;
		if (s->stats.clients > s->stats.clients_max)
			s->stats.clients_max = s->stats.clients;
	}
	if (s->log.joined != NULL)
		s->log.joined(s->log.arg, ip, id);
	return c;
}

void
server_client_left(struct server *s, uint64_t now_us, const struct wire_msg *m)
{
	const struct wire_stats *stats = m->subtype == WIRE_LEAVE2 ? &m->u.leave2.stats
	                                                           : NULL;
	struct server_client *c = server_find_client(s, m->srcip, m->u.leave.clientid);

	s->stats.leaves++;
	if (c != NULL) {
		s->left[s->nleft++ % LEFT_KEPT] = *c;
		s->ext.clients -= c->ext;
		s->ext.no_sets -= c->no_sets;
		*c = s->clients[--s->stats.clients];
		s->left_us = now_us;
		if (s->ext.clients == 0)
			s->ext.heard_us = 0;
	}
	if (s->log.left != NULL)
		s->log.left(s->log.arg, m->srcip, m->u.leave.clientid,
		    m->u.leave.elapsed_s, stats);
}

bool
server_has_left(const struct server *s, const uint8_t ip[4], uint32_t id)
{
	uint32_t n = s->nleft < LEFT_KEPT ? s->nleft : LEFT_KEPT;

	for (uint32_t i = 0; i < n; i++)
		if (s->left[i].id == id && memcmp(s->left[i].ip, ip, 4) == 0)
			return true;
	return false;
}

void
server_want_chunk(struct server *s, uint32_t chunk)
{
	const struct item *it = s->items[chunk];
	struct blockmap want = blockmap_range(0, server_chunk_blocks(s, chunk));

	if (it != NULL) {
		want = blockmap_minus(want, &it->queued);
		want = blockmap_minus(want, &it->coming);
	}
	carousel_add(&s->ext.carousel, chunk, &want);
}

void
server_let_go(struct server *s, uint32_t blocks, uint64_t coming)
{
	uint64_t limit = s->ext.sent - coming +
	                 (blocks < GO_MAX_BLOCKS ? blocks : GO_MAX_BLOCKS);

	if (s->ext.limit < limit)
		s->ext.limit = limit;
}

static void
join_ext(struct server *s, uint64_t now_us, uint32_t flags)
{
	s->ext.used = true;
	s->ext.heard_us = now_us;
	server_let_go(s, server_unpaced(s) ? WIREXT_FIRST_UNPACED : WIREXT_FIRST, 0);
	/* How many they are makes a difference. */
	s->ext.state_pending |= (s->ext.clients & (s->ext.clients - 1)) == 0;
	for (uint32_t c = 0; c < s->nchunks && !(flags & WIREXT_AGAIN); c++)
		server_want_chunk(s, c);
}

void
server_handle_join(struct server *s, uint64_t now_us, const struct wire_msg *m,
    const void *pkt, size_t len)
{
	uint32_t flags;
	bool ext = wirext_get_offer(pkt, len, &flags) && s->cfg.ext.on;

	/* The original client aborts when it is told of part of a chunk. */
	if (!s->cfg.whole_chunks || s->ext.stale)
		return;
	s->join_pending = true;
	if (ext && (flags & WIREXT_PROBES)) {
		s->ext.asked = true;
		return;
	}
	s->asked_us = now_us;
	struct server_client *c = server_client_joined(
	    s, m->srcip, m->u.join.clientid, ext);
	if (c != NULL && ext && (flags & WIREXT_NO_SETS)) {
		c->no_sets = true;
		s->ext.no_sets++;
	}
	if (ext)
		join_ext(s, now_us, flags);
}

void
server_handle_join2(struct server *s, uint64_t now_us, const struct wire_msg *m)
{
	uint32_t id = m->u.join2.clientid;

	if (s->ext.stale)
		return;
	s->asked_us = now_us;
	server_client_joined(s, m->srcip, id, false);
	for (unsigned i = 0; i < s->join2_count; i++)
		if (s->join2_pending[i] == id)
			return;
	if (s->join2_count < JOIN2_PENDING_MAX)
		s->join2_pending[s->join2_count++] = id;
}

static bool
chunk_exists(struct server *s, const uint8_t from[4], uint32_t chunk)
{
	struct err e;

	if (chunk < s->nchunks)
		return true;
	err_set(&e, ERR_FORMAT, "request for chunk %u of %u", chunk, s->nchunks);
	server_bad_packet(s, from, &e);
	return false;
}

void
server_handle_request(struct server *s, uint64_t now_us, const struct wire_msg *m)
{
	struct blockmap asked;

	if (!chunk_exists(s, m->srcip, m->u.req.chunk))
		return;
	s->stats.requests++;
	asked = blockmap_range(m->u.req.first, m->u.req.count);
	server_enqueue(s, now_us, m->u.req.chunk, &asked);
}

void
server_handle_prequest(struct server *s, uint64_t now_us, const struct wire_msg *m)
{
	struct blockmap asked = blockmap_get(m->u.preq.map);

	if (!chunk_exists(s, m->srcip, m->u.preq.chunk))
		return;
	s->stats.prequests++;
	server_enqueue(s, now_us, m->u.preq.chunk, &asked);
}
