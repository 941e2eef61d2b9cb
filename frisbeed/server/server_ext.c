/* server_ext.c: messages of the extension, which arrive on the second port.  server_input()
 * calls this for each of them, in the engine's only thread. */
#include "frisbeed/server/server_impl.h"

#include <string.h>

enum {
	/* The most blocks of a group that a NACK may name.  A client that lacks more
	 * sends WANT for the chunk. */
	NACK_MOST = 120,
	/* How many blocks of an address that wants something again may wait: what the rate brings
	 * in WANT_US, and at least WANT_LEAST; WANT_UNPACED without a rate.  Of many addresses
	 * one speaks for several, so it may want more. */
	WANT_US = 500000,
	WANT_LEAST = 2 * WIRE_CHUNK_BLOCKS,
	WANT_UNPACED = 64 * WIRE_CHUNK_BLOCKS,
};

static uint32_t
want_most(const struct server *s)
{
	uint32_t several = s->voters.here / VOTERS_FEW;
	double most = s->pace.rate * WANT_US / 1e6 * (several > 1 ? several : 1);

	if (server_unpaced(s) || s->pace.rate == 0)
		return WANT_UNPACED;
	if (most > s->image.blocks)
		return s->image.blocks;
	return most > WANT_LEAST ? (uint32_t)most : WANT_LEAST;
}

/* May the address want this chunk?  If not, it hears that the chunk is not announced, and says so
 * again. */
static bool
may_want(struct server *s, struct voter *v, uint32_t chunk)
{
	return v == NULL || voters_want(&s->voters, v, chunk, server_wants_more(s, chunk),
				want_most(s));
}

static void
handle_want(struct server *s, uint64_t now_us, const struct wirext_msg *m)
{
	const struct wirext_map *map = &m->u.want.map;

	if (server_client_speaks(s, m->srcip, m->u.want.clientid) == NULL)
		return;
	server_count(&s->counters, COUNT_WANTS, 1);
	server_life_asked(&s->life, now_us);
	struct voter *v = voters_find(&s->voters, m->srcip);
	for (uint32_t i = 0; i < map->count && map->first + i < s->image.chunks; i++)
		if (wirext_map_test(map, map->first + i) && may_want(s, v, map->first + i))
			server_want_chunk(s, map->first + i);
}

bool
server_is_idle(const struct server *s)
{
	return server_queue_empty(&s->queue) && s->slots.used == 0 &&
	       s->carousel.wanted == 0 &&
	       s->repair.n + s->repair.nlate == 0;
}

bool
server_is_held(const struct server *s)
{
	return server_credit_room(
		   &s->credit, server_sent_all(&s->sent) + server_pending(s)) == 0;
}

bool
server_is_quiet(const struct server *s)
{
	bool held = server_is_held(s);

	bool nothing = s->carousel.wanted == 0 &&
	               s->repair.n + s->repair.nlate == 0;

	return server_queue_empty(&s->queue) && s->slots.used == 0 && (nothing || held);
}

/* Does the NACK name more blocks of a group than a client of this suite ever does? */
static bool
too_much(const uint8_t lack[WIREXT_GROUPS])
{
	for (unsigned g = 0; g < WIREXT_GROUPS; g++)
		if (lack[g] > NACK_MOST)
			return true;
	return false;
}

/* How many parity blocks the address may cause with this NACK; the others are sent
 * late. scheduled: this server has sent the chunk since the client joined.  If not, the
 * address is limited even when it is one of few. */
static uint32_t
may_cause(struct server *s, uint64_t now_us, struct voter *v, bool scheduled)
{
	if (v == NULL)
		return UINT32_MAX;
	return voters_may_cause(
	    &s->voters, v, now_us, server_sent_all(&s->sent), scheduled);
}

/* Ask for one more parity block per group when no chunks are left to be sent: the link
 * is free then, and a client that loses part of the answer needs no second NACK. */
static void
with_spare(const struct server *s, uint8_t lack[WIREXT_GROUPS])
{
	bool chunks_left = !server_queue_empty(&s->queue) || s->slots.used > 0 ||
	                   s->carousel.wanted > 0;

	for (unsigned g = 0; g < WIREXT_GROUPS && !chunks_left && s->members.ext > 1;
	     g++)
		lack[g] += lack[g] > 0 && lack[g] < NACK_MOST;
}

static void
hear_report(struct server *s, uint64_t now_us, const struct server_client *c,
    const struct wirext_nack *k)
{
	uint8_t lack[WIREXT_GROUPS];
	struct voter *v = voters_find(&s->voters, c->ip);

	/* A client that has not heard of the interleaving believes that this chunk is
	 * over. */
	if (too_much(k->lack) ||
	    (server_is_interleaving(s) && server_queue_passes(&s->queue, k->chunk)))
		return;
	if (!growing_has(&s->growing, k->chunk)) {
		growing_want(&s->growing, k->chunk);
		return;
	}
	bool scheduled = server_has_scheduled(s, k->chunk, c);
	/* A chunk that was not sent since it joined still comes: it wanted all of them.
	 */
	if (!scheduled && !c->resumes)
		return;
	uint32_t most = may_cause(s, now_us, v, scheduled);
	memcpy(lack, k->lack, sizeof lack);
	with_spare(s, lack);
	uint32_t caused = repair_report(&s->repair, k->chunk, lack, most, now_us);
	if (v != NULL)
		voters_caused(v, caused);
	/* The client can take this many blocks in addition to its CREDIT. */
	server_credit_owe(&s->credit,
	    s->carousel.wanted == 0 ? WIRE_CHUNK_BLOCKS : caused);
	/* An address that is not believed says nothing about the losses of others. */
	if (caused < most &&
	    server_interleave_hear(
		&s->interleave, c->ip, s->voters.ext >= VOTERS_FEW, k->lack) &&
	    s->interleave.on)
		repair_even_out(&s->repair);
}

static void
handle_nack(struct server *s, uint64_t now_us, const struct wirext_msg *m)
{
	const struct server_client *c = server_client_speaks(
	    s, m->srcip, m->u.nack.clientid);

	if (c == NULL)
		return;
	server_count(&s->counters, COUNT_NACKS, 1);
	server_life_asked(&s->life, now_us);
	if (!s->cfg.ext.parity)
		return;
	struct voter *v = voters_find(&s->voters, m->srcip);
	if (v == NULL || voters_report(&s->voters, v, now_us, s->repair.budget))
		repair_count_message(&s->repair);
	for (uint32_t i = 0; i < m->u.nack.n; i++)
		if (m->u.nack.at[i].chunk < s->image.chunks)
			hear_report(s, now_us, c, &m->u.nack.at[i]);
}

/* Does the complaint count, because several addresses complain, or few are there?  Then
 * *lost is what they agree about. */
static bool
is_believed(
    struct server *s, uint64_t now_us, const struct wirext_msg *m, uint32_t *lost)
{
	struct voter *v = voters_find(&s->voters, m->srcip);
	uint32_t of = m->u.congestion.of;

	if (v == NULL || of == 0 || !rate_hears(&s->rate, m->u.congestion.epoch))
		return false;
	*lost = m->u.congestion.lost < of ? m->u.congestion.lost : of;
	return voters_complain(&s->voters, v, now_us, m->u.congestion.queue, lost, &of);
}

/* Have more than half of the addresses that hear lost something in step with bursts? */
static bool
is_in_step(
    struct server *s, uint64_t now_us, const struct wirext_msg *m, uint32_t *lost)
{
	struct voter *v = voters_find(&s->voters, m->srcip);
	uint32_t of = m->u.congestion.of;

	if (!m->u.congestion.step || v == NULL || of == 0 ||
	    !rate_hears(&s->rate, m->u.congestion.epoch))
		return false;
	*lost = m->u.congestion.lost;
	if (!voters_in_step(&s->voters, v, now_us, lost, &of))
		return false;
	*lost = (uint32_t)((uint64_t)*lost * m->u.congestion.of / of);
	return true;
}

/* Lower the rate, if it is the reason of the losses.  What more than half of the addresses say
 * is agreed. */
static bool
give_way(struct server *s, uint64_t now_us, const struct wirext_msg *m)
{
	uint64_t sent = server_sent_paced(s);
	uint32_t lost = 0, of = m->u.congestion.of, epoch = m->u.congestion.epoch;
	bool step = is_in_step(s, now_us, m, &lost);

	if (!step && !is_believed(s, now_us, m, &lost))
		return false;
	bool counts = server_complaint_counts(s, now_us, m->srcip);
	if (!step && !counts)
		return false;
	if (step)
		return rate_in_step(&s->rate, now_us, sent, epoch, lost, of);
	return rate_complain(&s->rate, now_us, sent, epoch, lost, of, m->u.congestion.queue);
}

static void
handle_hears(struct server *s, uint64_t now_us, const struct wirext_msg *m)
{
	if (server_client_speaks(s, m->srcip, m->u.hears.clientid) == NULL)
		return;
	server_count(&s->counters, COUNT_HEARS, 1);
	server_life_asked(&s->life, now_us);
	if (!s->cfg.dynamic || !server_may_be_contested(s))
		return;
	contest_objects(&s->contest, now_us, m->srcip);
	if (contest_verdict(&s->contest, now_us) > CONTEST_AGREED && rate_split(&s->rate))
		server_follow_rate(s);
}

static void
handle_congestion(struct server *s, uint64_t now_us, const struct wirext_msg *m)
{
	if (server_client_speaks(s, m->srcip, m->u.congestion.clientid) == NULL)
		return;
	server_count(&s->counters, COUNT_CONGESTIONS, 1);
	server_life_asked(&s->life, now_us);
	/* A single client of an unpaced session grants less credit when it loses
	 * something. */
	bool alone = server_unpaced(s) && server_members_count(&s->members) < 2;
	if (!s->cfg.dynamic || alone)
		return;
	if (give_way(s, now_us, m)) {
		contest_lowered(&s->contest, now_us);
		server_follow_rate(s);
	}
	server_name_complainer(s, m->srcip);
}

/* How many of the sent blocks are still on their way to the client that sent this
 * message. Only CREDIT_AT tells; for CREDIT it is 0. */
static uint64_t
still_coming(const struct server *s, const struct wirext_msg *m)
{
	uint64_t heard;

	if (m->kind != WIREXT_CREDIT_AT ||
	    !server_sent_upto(&s->sent, m->u.credit.chunk, m->u.credit.block, &heard))
		return 0;
	heard += m->u.credit.since;
	return heard < server_sent_all(&s->sent) ? server_sent_all(&s->sent) - heard : 0;
}

static void
handle_credit(struct server *s, uint64_t now_us, const struct wirext_msg *m)
{
	if (server_client_speaks(s, m->srcip, m->u.credit.clientid) == NULL)
		return;
	server_count(&s->counters, COUNT_CREDITS, 1);
	server_life_asked(&s->life, now_us);
	server_credit_grant(&s->credit, server_sent_all(&s->sent), still_coming(s, m),
	    m->u.credit.blocks);
}

static void
handle_mtu_ack(struct server *s, uint64_t now_us, const struct wirext_msg *m)
{
	const struct server_client *c = server_client_speaks(
	    s, m->srcip, m->u.mtu_ack.clientid);

	if (c == NULL)
		return;
	server_count(&s->counters, COUNT_MTU_ACKS, 1);
	server_mtu_hear(&s->mtu, now_us, server_members_index(&s->members, c),
	    m->u.mtu_ack.number, m->u.mtu_ack.blocks);
}

/* Somebody waits for these blocks. */
static void
handle_urgent(struct server *s, uint64_t now_us, const struct wirext_msg *m)
{
	const struct server_client *c = server_client_speaks(
	    s, m->srcip, m->u.urgent.clientid);

	if (c == NULL)
		return;
	server_life_asked(&s->life, now_us);
	if (server_members_waits(&s->members, c))
		server_begin_order(s);
	for (uint32_t i = 0; i < m->u.urgent.n; i++) {
		struct wirext_run run = m->u.urgent.at[i];
		uint32_t blocks =
		    run.chunk < s->image.chunks ? server_chunk_blocks(s, run.chunk) : 0;
		if (run.first >= blocks)
			continue;
		if (run.count > blocks - run.first)
			run.count = (uint16_t)(blocks - run.first);
		if (growing_has(&s->growing, run.chunk))
			server_count(&s->counters, COUNT_URGENT,
			    server_urgent_ask(&s->urgent, now_us, m->srcip, &run));
		else
			growing_ask(&s->growing, run.chunk);
	}
}

static bool
is_servers(enum wirext_kind kind)
{
	return kind == WIREXT_STATE || kind == WIREXT_PARITY || kind == WIREXT_TIME ||
	       kind == WIREXT_DATA || kind == WIREXT_MTU_PROBE ||
	       kind == WIREXT_URGENT_DATA;
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
	if (memcmp(m.srcip, from, 4) != 0 || s->announce.stale)
		return;
	if (is_servers(m.kind)) {
		if (m.session != s->cfg.ext.session ||
		    memcmp(from, s->cfg.srcip, 4) != 0)
			server_hear_other(s, from);
		return;
	}
	server_announce_heard(&s->announce, now_us);
	if (m.session != s->cfg.ext.session) {
		/* The client knows another server, or an earlier run of this one. */
		server_announce_now(&s->announce);
		return;
	}
	if (m.kind == WIREXT_WANT)
		handle_want(s, now_us, &m);
	else if (m.kind == WIREXT_NACK)
		handle_nack(s, now_us, &m);
	else if (m.kind == WIREXT_CONGESTION)
		handle_congestion(s, now_us, &m);
	else if (m.kind == WIREXT_HEARS)
		handle_hears(s, now_us, &m);
	else if (m.kind == WIREXT_MTU_ACK)
		handle_mtu_ack(s, now_us, &m);
	else if (m.kind == WIREXT_URGENT)
		handle_urgent(s, now_us, &m);
	else if (m.kind == WIREXT_CREDIT || m.kind == WIREXT_CREDIT_AT)
		handle_credit(s, now_us, &m);
}
