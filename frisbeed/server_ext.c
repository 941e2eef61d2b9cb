#include "frisbeed/server_impl.h"

#include <string.h>

static void
handle_want(struct server *s, uint64_t now_us, const struct wirext_msg *m)
{
	const struct wirext_map *map = &m->u.want.map;

	if (!server_client_speaks(s, m->srcip, m->u.want.clientid))
		return;
	s->stats.wants++;
	s->asked_us = now_us;
	for (uint32_t i = 0; i < map->count && map->first + i < s->nchunks; i++)
		if (wirext_map_test(map, map->first + i))
			server_want_chunk(s, map->first + i);
}

bool
server_is_idle(const struct server *s)
{
	return s->head == NULL && s->slots_used == 0 && s->ext.carousel.wanted == 0 &&
	       s->ext.repair.n == 0;
}

bool
server_is_quiet(const struct server *s)
{
	bool held = s->ext.sent + s->ext.pending >= s->ext.limit;

	return s->head == NULL && s->slots_used == 0 && s->ext.repair.n == 0 &&
	       (s->ext.carousel.wanted == 0 || held);
}

static void
hear_report(
    struct server *s, uint64_t now_us, const struct wirext_nak *k, uint64_t window_us)
{
	/* Who has not heard that chunks take turns believes that this one is over. */
	if (server_in_sets(s) && s->items[k->chunk] != NULL)
		return;
	repair_report(&s->ext.repair, k->chunk, k->lack, now_us, window_us);
	if (server_sets_hear(&s->ext.sets, k->lack) && s->ext.sets.on)
		repair_even_out(&s->ext.repair);
}

static void
handle_reports(struct server *s, uint64_t now_us, const struct wirext_msg *m)
{
	uint64_t window = s->ext.clients < 2  ? 0
	                  : server_is_idle(s) ? WINDOW_US / 4
	                                      : WINDOW_US;

	if (!server_client_speaks(s, m->srcip, m->u.nak.clientid))
		return;
	s->stats.reports++;
	s->asked_us = now_us;
	if (!s->cfg.ext.parity)
		return;
	repair_count_message(&s->ext.repair);
	for (uint32_t i = 0; i < m->u.nak.n; i++)
		if (m->u.nak.at[i].chunk < s->nchunks)
			hear_report(s, now_us, &m->u.nak.at[i], window);
}

static void
handle_load(struct server *s, uint64_t now_us, const struct wirext_msg *m)
{
	if (!server_client_speaks(s, m->srcip, m->u.load.clientid))
		return;
	s->stats.loads++;
	s->asked_us = now_us;
	/* One alone, unpaced, asks for less when it loses something. */
	bool alone = server_unpaced(s) && s->stats.clients < 2;
	if (s->cfg.dynamic && !alone &&
	    rate_complain(&s->rate, now_us, s->ext.sent, m->u.load.epoch,
		m->u.load.lost, m->u.load.of, m->u.load.queue))
		server_follow_rate(s);
}

/* Of what was sent, how much has the client that says ROOM not heard yet? */
static uint64_t
still_coming(const struct server *s, const struct wirext_msg *m)
{
	uint64_t heard;

	if (m->kind != WIREXT_ROOM ||
	    !server_sent_upto(&s->ext.log, m->u.go.chunk, m->u.go.block, &heard))
		return 0;
	heard += m->u.go.since;
	return heard < s->ext.sent ? s->ext.sent - heard : 0;
}

static void
handle_go(struct server *s, uint64_t now_us, const struct wirext_msg *m)
{
	if (!server_client_speaks(s, m->srcip, m->u.go.clientid))
		return;
	s->stats.gos++;
	s->asked_us = now_us;
	server_let_go(s, m->u.go.blocks, still_coming(s, m));
}

void
server_ext_input(struct server *s, uint64_t now_us, const void *pkt, size_t len,
    const uint8_t from[4])
{
	struct wirext_msg m;
	struct err e;

	if (!s->cfg.ext.on)
		return;
	if (wirext_get(&m, pkt, len, &e) != 0) {
		if (e.kind != ERR_UNSUPPORTED)
			server_bad_packet(s, from, &e);
		return;
	}
	if (memcmp(m.srcip, from, 4) != 0 || s->ext.stale)
		return;
	s->ext.used = true;
	s->ext.heard_us = now_us;
	if (m.session != s->cfg.ext.session) {
		/* It knows another server, or an earlier run of this one. */
		s->ext.state_pending |= m.kind != WIREXT_STATE;
		return;
	}
	if (m.kind == WIREXT_WANT)
		handle_want(s, now_us, &m);
	else if (m.kind == WIREXT_NAK)
		handle_reports(s, now_us, &m);
	else if (m.kind == WIREXT_LOAD)
		handle_load(s, now_us, &m);
	else if (m.kind == WIREXT_FITS)
		server_packs_hear(s, &m);
	else if (m.kind == WIREXT_GO || m.kind == WIREXT_ROOM)
		handle_go(s, now_us, &m);
}
