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
			repair_report(&s->ext.repair, m->u.nak.at[i].chunk,
			    m->u.nak.at[i].lack, now_us, window);
}

static void
handle_load(struct server *s, uint64_t now_us, const struct wirext_msg *m)
{
	if (!server_client_speaks(s, m->srcip, m->u.load.clientid))
		return;
	s->stats.loads++;
	s->asked_us = now_us;
	if (s->cfg.dynamic &&
	    rate_complain(&s->rate, now_us, s->ext.sent, m->u.load.epoch,
		m->u.load.lost, m->u.load.of, m->u.load.queue))
		server_follow_rate(s);
}

static void
handle_go(struct server *s, uint64_t now_us, const struct wirext_msg *m)
{
	if (!server_client_speaks(s, m->srcip, m->u.go.clientid))
		return;
	s->stats.gos++;
	s->asked_us = now_us;
	server_let_go(s, m->u.go.blocks);
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
	else if (m.kind == WIREXT_GO)
		handle_go(s, now_us, &m);
}
