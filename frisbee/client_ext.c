/* The extension's side of the client: it does not ask for chunks one by one; the server
 * sends what anybody wants and says what still comes.  Who lacks something that does
 * not come says so, after a random time in which another may say it first. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "frisbee/client_impl.h"

enum {
	/* The longest that a report is held back; a quarter when the server has nothing
	 * else to do.  One client alone only waits to say more at once. */
	HOLD_US = 160000,
	HOLD_ALONE_US = 20000,
	HOLD_LOAD_US = 20000, /* ... of a complaint about the rate */
	/* A report that had no effect is repeated. */
	REPEAT_US = 1500000,
	REPEAT_IDLE_US = 350000,
	REPEAT_ALONE_US = 50000,
	/* Without announcements for so long, nothing is believed to come; and then
	 * the extension is given up. */
	DOUBT_US = 1600000,
	LOST_US = 4000000,
	/* Lacking more than this, plain blocks are better. */
	/* The server is told to go on when fewer chunks than this wait to be written,
	 * for so many more: few on a fast network, lest the socket overflows. */
	LOW_WATER = 4,
	FEW_CLIENTS = 8,
	GO_CHUNKS = 8,
	GO_CHUNKS_LOSSY = 2,
	FAST_CHUNK_US = 50000,
	GO_ON_BLOCKS = 3 * WIRE_CHUNK_BLOCKS / 2, /* ... when so many are to come */
	STALL_US = 30000, /* nothing came for so long: say it again */
	/* Blocks on their way from a server without a pace; a pass that lost more
	 * than so many of a chunk was too much. */
	WINDOW_LEAST = 128,
	WINDOW_MOST = 3 * WIRE_CHUNK_BLOCKS,
	WINDOW_STEP = 32,
	WINDOW_LOSS = 48,
	STALL_MIN_US = 2000,
	STALL_TRIES = 5, /* then twice, four times ... as long */
	NEAR_BEGIN = 8,  /* of a chunk; what is before it was lost */
	MOST_OF_GROUP = 120,
	MOST_OF_CHUNK = WIRE_CHUNK_BLOCKS / 2,
};

void
client_ext_begin(struct client *c, uint64_t now_us, const struct wirext_answer *a)
{
	uint32_t bytes = (c->chunks.n + 7) / 8;

	c->ext.coming = malloc(bytes);
	if (c->ext.coming == NULL)
		return; /* the base protocol needs no more memory */
	/* Joining wants everything, or it is said soon what is wanted. */
	memset(c->ext.coming, client_wants_all(c) ? 0xff : 0, bytes);
	c->ext.look = !client_wants_all(c);
	c->ext.want_all = c->cfg.resumes && !c->cfg.in_order;
	c->ext.on = true;
	c->ext.parity = c->cfg.parity && (a->flags & WIREXT_CAN_PARITY) != 0;
	c->ext.port = a->port;
	c->ext.session = a->session;
	memcpy(c->ext.identity, a->identity, sizeof a->identity);
	c->ext.clients = a->clients;
	c->ext.state_us = c->ext.seen_us = now_us;
	c->ext.unpaced = (a->flags & WIREXT_UNPACED) != 0;
	c->ext.horizon = c->ext.unpaced ? WIREXT_FIRST_UNPACED : WIREXT_FIRST;
	c->ext.window = 2 * WIREXT_FIRST_UNPACED;
}

/* Another run of the server's; it knows nothing of what we want. */
static void
adopt_session(struct client *c, uint32_t session)
{
	if (c->ext.session == session)
		return;
	c->ext.session = session;
	c->ext.horizon = c->ext.seen;
	c->ext.load = (struct client_load){ 0 };
	c->ext.look = true;
	memset(c->ext.coming, 0, (c->chunks.n + 7) / 8);
	for (uint32_t i = 0; i < c->nfilling; i++)
		client_ext_pass_ended(&c->buffers[c->filling[i]]);
}

static bool
same_image(struct client *c, const uint8_t identity[WIREXT_IDENTITY_BYTES])
{
	if (memcmp(identity, c->ext.identity, WIREXT_IDENTITY_BYTES) == 0)
		return true;
	client_refuse(
	    c, "the server has another image now than the one that was begun");
	return false;
}

void
client_ext_check(
    struct client *c, uint64_t now_us, uint32_t blocks, const struct wirext_answer *a)
{
	if (blocks != c->nblocks) {
		client_refuse(
		    c, "the server has another image now than the one that was begun");
		return;
	}
	c->ext.answered = true;
	if (a == NULL) {
		/* A server that does not know the extension has taken over. */
		c->ext.on &= !c->ext.doubting;
		return;
	}
	if (!same_image(c, a->identity) || a->session == c->ext.session)
		return;
	adopt_session(c, a->session);
	c->ext.port = a->port;
	c->ext.state_us = now_us;
	c->ext.doubting = false;
}

static void
set_coming(struct client *c, uint32_t chunk, bool coming)
{
	uint8_t bit = (uint8_t)(1 << chunk % 8);

	if (coming)
		c->ext.coming[chunk / 8] |= bit;
	else
		c->ext.coming[chunk / 8] &= (uint8_t)~bit;
}

/* A pass that we see from near its beginning is all that was wanted of the chunk;
 * of one that we came late for, the server still wants the beginning. */
void
client_ext_pass_begins(struct client *c, uint32_t chunk, uint32_t block)
{
	if (c->ext.on && block < NEAR_BEGIN)
		set_coming(c, chunk, false);
}

void
client_ext_pass_ended(struct buffer *b)
{
	memset(b->asked, 0, sizeof b->asked);
}

/* --- chance --- */

/* The binary logarithm of x >= 1. */
static double
log2_of(uint64_t x)
{
	int e = 63 - __builtin_clzll(x);

	return e + (double)(x - (UINT64_C(1) << e)) / (double)(UINT64_C(1) << e);
}

/* Up to `most`, such that of n clients few draw a short time. */
static uint64_t
exponential(struct client *c, uint64_t most)
{
	uint64_t draw = client_random(&c->rng) | 1;
	double u = 1 + (log2_of(draw) - 64) / log2_of((uint64_t)c->ext.clients + 1);

	return u > 0 ? (uint64_t)(u * (double)most) : 0;
}

/* How long to hold a message back.  Half of it is shorter for who lacks most, half is
 * exponential: of n clients, few speak before the first one is heard. */
static uint64_t
hold_us(struct client *c, uint32_t lack)
{
	uint64_t most = c->ext.idle ? HOLD_US / 4 : HOLD_US;

	if (c->ext.clients <= 1)
		return c->ext.idle || c->chunk_us < FAST_CHUNK_US ? HOLD_ALONE_US / 10
		                                                  : HOLD_ALONE_US;
	double need = c->ext.most_lack > lack ? 1 - (double)lack / c->ext.most_lack : 0;
	return (uint64_t)((double)most * need / 2) + exponential(c, most / 2) + 1;
}

/* --- hearing --- */

static void
handle_state(struct client *c, uint64_t now_us, const struct wirext_msg *m)
{
	if (!same_image(c, m->u.state.identity))
		return;
	if (m->u.state.flags & WIREXT_STALE) {
		client_refuse(
		    c, "the server's image file was changed while it was being loaded");
		return;
	}
	adopt_session(c, m->session);
	c->heard_us = c->ext.state_us = now_us;
	c->ext.doubting = false;
	c->ext.clients = m->u.state.clients;
	c->ext.idle = (m->u.state.flags & WIREXT_IDLE) != 0;
	c->ext.sets = (m->u.state.flags & WIREXT_IN_SETS) != 0;
	c->ext.most_lack -= c->ext.most_lack / 8;
	const struct wirext_map *map = &m->u.state.coming;
	for (uint32_t i = map->first; i - map->first < map->count && i < c->chunks.n;
	     i++)
		set_coming(c, i, wirext_map_test(map, i));
	c->ext.look = true;
	if (c->ext.idle)
		client_end_pass(c, now_us);
	c->scan_at_us = now_us;
}

static void
handle_want(struct client *c, const struct wirext_map *map)
{
	for (uint32_t i = map->first; i - map->first < map->count && i < c->chunks.n;
	     i++)
		if (wirext_map_test(map, i))
			set_coming(c, i, true);
}

static void
handle_reports(struct client *c, uint64_t now_us, const struct wirext_msg *m)
{
	uint32_t total = 0;

	for (uint32_t i = 0; i < m->u.nak.n; i++) {
		const struct wirext_nak *k = &m->u.nak.at[i];
		for (unsigned g = 0; g < WIREXT_GROUPS; g++)
			total += k->lack[g];
		struct buffer *b = k->chunk < c->chunks.n ? client_filling(c, k->chunk)
		                                          : NULL;
		if (b == NULL)
			continue;
		for (unsigned g = 0; g < WIREXT_GROUPS; g++)
			if (b->asked[g] < k->lack[g])
				b->asked[g] = k->lack[g];
		b->asked_us = now_us;
	}
	if (c->ext.most_lack < total)
		c->ext.most_lack = total;
}

static uint64_t
go_on_at(const struct client *c, uint32_t blocks)
{
	/* One that is lost is followed by another before the server runs dry. */
	if (c->ext.unpaced)
		return blocks * UINT64_C(2) / 3;
	return blocks / 2 < GO_ON_BLOCKS ? blocks / 2 : GO_ON_BLOCKS;
}

void
client_ext_seen(struct client *c, uint64_t now_us)
{
	c->ext.seen++;
	c->ext.seen_us = now_us;
	c->ext.go_tries = 0;
	if (c->ext.seen % WIRE_CHUNK_BLOCKS == 0) {
		c->chunk_us = now_us - c->ext.mark_us;
		client_skip_streamed(&c->ext.skip, c->chunk_us);
		c->ext.mark_us = now_us;
	}
	/* Half of it is through: time to say more. */
	if (c->ext.go_at_us == 0 && c->ext.seen >= c->ext.look_go)
		c->scan_at_us = now_us;
}

static void
note_go(struct client *c, uint64_t now_us, uint32_t blocks)
{
	if (c->ext.horizon < c->ext.seen + blocks)
		c->ext.horizon = c->ext.seen + blocks;
	c->ext.look_go = c->ext.horizon - go_on_at(c, blocks);
	c->ext.go_at_us = 0;
	c->ext.seen_us = now_us;
}

/* What a pass lost without a pace has overrun our own socket, most likely.  What was
 * on its way by then tells nothing new. */
void
client_ext_adapt(struct client *c, uint32_t lost)
{
	if (lost <= WINDOW_LOSS / 2 && c->ext.window < WINDOW_MOST)
		c->ext.window += WINDOW_STEP;
	if (lost <= WINDOW_LOSS || c->ext.seen < c->ext.cut_till)
		return;
	c->ext.window -= c->ext.window / 4;
	if (c->ext.window < WINDOW_LEAST)
		c->ext.window = WINDOW_LEAST;
	c->ext.cut_till = c->ext.horizon + c->ext.window;
}

/* A place for a parity block of the group, unless this very one is here. */
static bool
parity_place(const struct buffer *b, uint32_t group, uint32_t index, uint32_t *place)
{
	bool found = false;

	for (uint32_t p = group; p < WIRE_CHUNK_BLOCKS; p += WIREXT_GROUPS) {
		if (b->parity_at[p] == index + 1)
			return false;
		if (!found && blockmap_test(&b->missing, p) && b->parity_at[p] == 0) {
			*place = p;
			found = true;
		}
	}
	return found;
}

static bool
handle_parity(struct client *c, uint64_t now_us, const struct wirext_msg *m,
    struct client_store *store)
{
	uint32_t chunk = m->u.parity.chunk, group = m->u.parity.group, place = 0;

	if (m->session != c->ext.session || chunk >= c->chunks.n)
		return false;
	c->heard_us = now_us;
	client_ext_seen(c, now_us);
	c->ext.since += c->ext.since < UINT16_MAX;
	if (!c->ext.parity)
		return false;
	if (c->current != chunk) {
		client_follow_stream(c, now_us, chunk);
		client_ext_pass_begins(c, chunk, 0);
	}
	/* A chunk of which nothing else is here is better received in its turn. */
	struct buffer *b = client_filling(c, chunk);
	if (b == NULL || b->lack[group] == 0 ||
	    !parity_place(b, group, m->u.parity.index, &place)) {
		c->parity_unneeded++;
		return false;
	}
	c->parity_used++;
	b->parity_at[place] = (uint8_t)(m->u.parity.index + 1);
	*store = (struct client_store){ .buf = (uint32_t)(b - c->buffers),
		.chunk = chunk,
		.block = place,
		.data = m->u.parity.data };
	client_one_less(c, now_us, b, group);
	return true;
}

/* Another says so: the server slows down for all of us. */
static void
handle_load(struct client *c, const struct wirext_msg *m)
{
	if (m->u.load.epoch >= c->ext.load.say_epoch)
		c->ext.load.say_at_us = 0;
}

bool
client_ext_input(struct client *c, uint64_t now_us, const void *pkt, size_t len,
    const uint8_t from[4], struct client_store *store)
{
	struct wirext_msg m;
	struct err e;

	if (c->state != CLIENT_LOADING || c->ext.coming == NULL ||
	    wirext_get(&m, pkt, len, &e) != 0 || memcmp(m.srcip, from, 4) != 0)
		return false;
	bool server = !c->cfg.has_server || memcmp(from, c->cfg.server, 4) == 0;
	switch (m.kind) {
	case WIREXT_STATE:
		if (server && c->ext.on)
			handle_state(c, now_us, &m);
		return false;
	case WIREXT_PARITY:
		return server && handle_parity(c, now_us, &m, store);
	case WIREXT_WANT:
		if (m.session == c->ext.session)
			handle_want(c, &m.u.want.map);
		return false;
	case WIREXT_GO:
	case WIREXT_ROOM:
		if (m.session == c->ext.session)
			note_go(c, now_us, m.u.go.blocks);
		return false;
	case WIREXT_TIME:
		if (server && m.session == c->ext.session)
			client_load_signal(&c->ext.load, now_us, m.u.time.time_us,
			    m.u.time.epoch, m.u.time.sent);
		return false;
	case WIREXT_LOAD:
		if (m.session == c->ext.session)
			handle_load(c, &m);
		return false;
	case WIREXT_NAK:
		if (m.session == c->ext.session)
			handle_reports(c, now_us, &m);
		return false;
	}
	return false;
}

/* --- speaking --- */

static bool
covered(const struct client *c, const struct buffer *b, uint64_t now_us)
{
	bool quiet = c->ext.idle || now_us >= c->ext.seen_us + STALL_US;
	uint64_t repeat_us = !quiet               ? REPEAT_US
	                     : c->ext.clients > 1 ? REPEAT_IDLE_US
	                                          : REPEAT_ALONE_US;

	if (now_us >= b->asked_us + repeat_us)
		return false;
	for (unsigned g = 0; g < WIREXT_GROUPS; g++)
		if (b->lack[g] > b->asked[g])
			return false;
	return true;
}

/* Of so much, parity is no help. */
static bool
too_much(const struct buffer *b)
{
	bool most = b->nlack > MOST_OF_CHUNK;

	for (unsigned g = 0; g < WIREXT_GROUPS; g++)
		most |= b->lack[g] > MOST_OF_GROUP;
	return most;
}

static bool
may_report(const struct client *c, const struct buffer *b, uint64_t now_us)
{
	return !client_in_pass(c, b->chunk) && now_us >= b->settled_us &&
	       !client_ext_coming(c, b->chunk) && !covered(c, b, now_us);
}

static void
begin(const struct client *c, struct wirext_msg *m, enum wirext_kind kind)
{
	m->kind = kind;
	m->session = c->ext.session;
	memcpy(m->srcip, c->cfg.srcip, 4);
}

/* What is lacking, of all chunks whose time has come; how many blocks. */
static uint32_t
collect_reports(struct client *c, uint64_t now_us, struct wirext_msg *m)
{
	uint32_t total = 0;

	m->u.nak.clientid = c->cfg.clientid;
	m->u.nak.n = 0;
	for (uint32_t i = 0; i < c->nfilling && m->u.nak.n < WIREXT_NAKS; i++) {
		struct buffer *b = &c->buffers[c->filling[i]];
		if (!may_report(c, b, now_us) || too_much(b))
			continue;
		struct wirext_nak *k = &m->u.nak.at[m->u.nak.n++];
		k->chunk = b->chunk;
		memcpy(k->lack, b->lack, sizeof k->lack);
		total += b->nlack;
	}
	return total;
}

static void
note_reported(struct client *c, uint64_t now_us, const struct wirext_msg *m)
{
	for (uint32_t i = 0; i < m->u.nak.n; i++) {
		struct buffer *b = client_filling(c, m->u.nak.at[i].chunk);
		memcpy(b->asked, b->lack, sizeof b->asked);
		b->asked_us = now_us;
		b->dubious = false;
	}
	c->stats.prequests++;
	c->stats.requests++;
}

static size_t
report(struct client *c, uint64_t now_us, void *pkt)
{
	struct wirext_msg m;

	begin(c, &m, WIREXT_NAK);
	uint32_t lack = collect_reports(c, now_us, &m);
	if (lack == 0) {
		c->ext.report_at_us = 0;
		return 0;
	}
	if (c->ext.report_at_us == 0)
		c->ext.report_at_us = now_us + hold_us(c, lack);
	if (now_us < c->ext.report_at_us)
		return 0;
	c->ext.report_at_us = 0;
	note_reported(c, now_us, &m);
	c->stats.blocks_by_prequest += lack;
	return wirext_put(&m, pkt, WIRE_PACKET_MAX);
}

static bool
add_want(struct wirext_map *map, uint8_t *bits, uint32_t chunk)
{
	if (map->count == 0)
		map->first = chunk / WIREXT_MAP_CHUNKS * WIREXT_MAP_CHUNKS;
	if (chunk < map->first || chunk - map->first >= WIREXT_MAP_CHUNKS)
		return false; /* another time */
	uint32_t i = chunk - map->first;
	bits[i / 8] |= (uint8_t)(1 << i % 8);
	if (map->count <= i)
		map->count = i + 1;
	return true;
}

/* Chunks that are needed and do not come, as many as there is room for; at first all,
 * as joining would have it. */
static uint32_t
collect_wants(struct client *c, uint64_t now_us, struct wirext_map *map, uint8_t *bits)
{
	uint32_t n = c->chunks.n, chunk = n, found = 0;
	uint32_t room = c->ext.want_all ? n : c->nfree;

	*map = (struct wirext_map){ .bits = bits };
	for (uint32_t i = 0; i < c->nfilling; i++) {
		struct buffer *b = &c->buffers[c->filling[i]];
		if (may_report(c, b, now_us) && too_much(b))
			found += add_want(map, bits, b->chunk);
	}
	while (found < room && (chunk = client_next_open(c, chunk)) != n)
		if (!client_in_pass(c, chunk) && !client_ext_coming(c, chunk) &&
		    !client_leaves_out(c, chunk))
			found += add_want(map, bits, chunk);
	return found;
}

static size_t
want(struct client *c, uint64_t now_us, void *pkt)
{
	uint8_t bits[WIREXT_MAP_CHUNKS / 8] = { 0 };
	struct wirext_msg m;

	if (!c->ext.look || (c->ext.want_at_us != 0 && now_us < c->ext.want_at_us))
		return 0;
	begin(c, &m, WIREXT_WANT);
	m.u.want.clientid = c->cfg.clientid;
	uint32_t found = collect_wants(c, now_us, &m.u.want.map, bits);
	if (found == 0) {
		c->ext.want_at_us = 0;
		c->ext.look = c->ext.want_all = false;
		return 0;
	}
	if (c->ext.want_at_us == 0) {
		c->ext.want_at_us = now_us + hold_us(c, found * WIRE_CHUNK_BLOCKS);
		return 0;
	}
	c->ext.want_at_us = 0;
	handle_want(c, &m.u.want.map);
	c->stats.requests++;
	return wirext_put(&m, pkt, WIRE_PACKET_MAX);
}

/* --- going on --- */

static bool
filling_comes(const struct client *c)
{
	for (uint32_t i = 0; i < c->nfilling; i++)
		if (client_ext_coming(c, c->buffers[c->filling[i]].chunk))
			return true;
	return false;
}

/* A chunk that lost something comes to its end late, behind what the server has read by
 * then.  Of few clients, for whom no parity goes unasked, each may be far ahead of its
 * disk: there are not many that it could outrun. */
static uint32_t
low_water(const struct client *c)
{
	if (c->ext.clients < FEW_CLIENTS)
		return c->nbuffers / 4;
	return c->nbuffers / 4 < LOW_WATER ? c->nbuffers / 4 : LOW_WATER;
}

/* How many blocks this client can take, and wants now: none while enough waits to be
 * written; then others may set the pace, and what does not fit comes round again. */
static uint32_t
can_take(const struct client *c)
{
	/* In order, what is behind a gap waits for the network, not to be written. */
	uint32_t waiting = c->nbuffers - c->nfree - c->nfilling -
	                   (c->cfg.in_order ? c->ncomplete : 0);
	uint32_t low = low_water(c);
	uint32_t chunks = c->chunk_us < FAST_CHUNK_US ? c->backlog / WIRE_CHUNK_BLOCKS
	                  : c->backlog < 2 * WIRE_CHUNK_BLOCKS ? GO_CHUNKS_LOSSY
	                                                       : GO_CHUNKS;

	/* Too many are incomplete: their repair comes first. */
	if (waiting >= low + (low == 0))
		return 0;
	if (c->nfilling > (c->nbuffers + 1) / 2 + 1)
		return filling_comes(c) ? WIRE_CHUNK_BLOCKS : 0;
	uint32_t share = c->nbuffers / 8 + (c->nbuffers < 8);
	if (chunks > share)
		chunks = share;
	if (chunks > c->nfree)
		chunks = c->nfree;
	if (c->ext.unpaced)
		return c->ext.window;
	return (chunks + (chunks == 0)) * WIRE_CHUNK_BLOCKS;
}

/* Is there something that only comes when the server goes on? */
static bool
waits_for_more(struct client *c)
{
	/* Without a pace, the rest of a chunk may wait, too. */
	if (c->ext.unpaced && c->current != c->chunks.n &&
	    client_filling(c, c->current) != NULL)
		return true;
	if (c->nfree > 0 && client_next_open(c, c->chunks.n) != c->chunks.n)
		return true;
	return filling_comes(c);
}

static uint64_t
stall_us(const struct client *c)
{
	uint32_t tries = c->ext.go_tries < STALL_TRIES ? c->ext.go_tries : STALL_TRIES;

	uint64_t most = c->chunk_us + STALL_MIN_US;

	/* Unpaced, what was said is soon there. */
	if (!c->ext.unpaced || most > STALL_US)
		most = STALL_US;
	return c->ext.seen_us + (most << tries);
}

/* Another may say it first, but not so late that the server runs dry. */
static uint64_t
go_hold_us(struct client *c, uint32_t blocks)
{
	uint64_t most = c->chunk_us < HOLD_US ? c->chunk_us : HOLD_US;

	if (c->ext.unpaced)
		most = most * blocks / WIRE_CHUNK_BLOCKS / 4;
	return c->ext.clients > 1 ? exponential(c, most) : 0;
}

static size_t
go(struct client *c, uint64_t now_us, void *pkt)
{
	uint32_t blocks = can_take(c);
	uint64_t left = c->ext.horizon > c->ext.seen ? c->ext.horizon - c->ext.seen : 0;
	bool stalled = now_us >= stall_us(c);
	struct wirext_msg m;

	if (blocks == 0 || (left >= go_on_at(c, blocks) && !stalled) ||
	    !waits_for_more(c)) {
		c->ext.go_at_us = 0;
		return 0;
	}
	if (c->ext.go_at_us == 0)
		c->ext.go_at_us = now_us + go_hold_us(c, blocks);
	if (now_us < c->ext.go_at_us)
		return 0;
	c->ext.go_tries += stalled;
	/* After a silence, what was on its way is lost or here. */
	begin(c, &m, c->ext.unpaced && !stalled ? WIREXT_ROOM : WIREXT_GO);
	m.u.go.clientid = c->cfg.clientid;
	m.u.go.blocks = blocks;
	m.u.go.chunk = c->ext.at_chunk;
	m.u.go.block = c->ext.at_block;
	m.u.go.since = c->ext.since;
	if (stalled)
		c->ext.horizon = c->ext.seen;
	note_go(c, now_us, blocks);
	c->stats.requests++;
	return wirext_put(&m, pkt, WIRE_PACKET_MAX);
}

/* When the network is overloaded, somebody has to say so. */
static size_t
complain(struct client *c, uint64_t now_us, void *pkt)
{
	struct client_load *l = &c->ext.load;
	struct wirext_msg m;

	l->clients = c->ext.clients;
	if (client_load_judge(l, now_us, c->ext.seen) && l->say_at_us == 0)
		l->say_at_us = now_us +
		               (c->ext.clients > 1 ? exponential(c, HOLD_LOAD_US) : 0);
	if (l->say_at_us == 0 || now_us < l->say_at_us)
		return 0;
	l->say_at_us = 0;
	begin(c, &m, WIREXT_LOAD);
	m.u.load.clientid = c->cfg.clientid;
	m.u.load.epoch = l->say_epoch;
	m.u.load.lost = l->say_lost;
	m.u.load.of = l->say_of;
	m.u.load.queue = l->queue;
	c->stats.requests++;
	return wirext_put(&m, pkt, WIRE_PACKET_MAX);
}

/* No announcements for some time: what is wanted is said again, and the server asked
 * for its new port, should it have one.  If it answers that nothing has changed, the
 * second port is closed to us, and the base protocol must do. */
static void
listen_for_state(struct client *c, uint64_t now_us)
{
	uint64_t silent = now_us - c->ext.state_us;

	if (silent >= LOST_US && c->ext.answered) {
		c->ext.on = false;
		return;
	}
	if (silent < DOUBT_US || c->ext.doubting)
		return;
	c->ext.doubting = true;
	c->ext.answered = false;
	c->ext.look = true;
	memset(c->ext.coming, 0, (c->chunks.n + 7) / 8);
	c->join_at_us = now_us + client_random(&c->rng) % c->cfg.join_us;
}

/* Ask it until it answers. */
static size_t
join_again(struct client *c, uint64_t now_us, void *pkt)
{
	if (!c->ext.doubting || c->ext.answered || now_us < c->join_at_us)
		return 0;
	return client_put_join(c, now_us, WIREXT_AGAIN, pkt);
}

size_t
client_ext_listen(struct client *c, uint64_t now_us, void *pkt)
{
	listen_for_state(c, now_us);
	return c->ext.on ? join_again(c, now_us, pkt) : 0;
}

static uint64_t
next_look_us(const struct client *c, uint64_t now_us)
{
	uint64_t at = now_us + c->cfg.tick_us;
	const uint64_t soon[] = { c->ext.want_at_us, c->ext.report_at_us,
		c->ext.go_at_us };

	for (unsigned i = 0; i < sizeof soon / sizeof soon[0]; i++)
		if (soon[i] > now_us && soon[i] < at)
			at = soon[i];
	for (uint32_t i = 0; i < c->nfilling; i++) {
		uint64_t settled = c->buffers[c->filling[i]].settled_us;
		if (settled > now_us && settled < at)
			at = settled;
	}
	return at;
}

size_t
client_ext_output(struct client *c, uint64_t now_us, void *pkt)
{
	size_t said = complain(c, now_us, pkt);
	if (said > 0 || now_us < c->scan_at_us)
		return said;
	listen_for_state(c, now_us);
	if (!c->ext.on)
		return 0;
	/* The answer to a request of the base protocol can be lost whole. */
	if (!c->ext.parity && now_us >= client_idle_at_us(c))
		client_go_idle(c, now_us);
	client_chunks_settle(&c->chunks, now_us, c->guard_us);
	size_t len = go(c, now_us, pkt);
	if (len > 0)
		return len;
	len = c->ext.parity ? report(c, now_us, pkt)
	                    : client_ask_missing(c, now_us, pkt);
	if (len == 0)
		len = want(c, now_us, pkt);
	if (len == 0)
		len = join_again(c, now_us, pkt);
	if (len == 0)
		c->scan_at_us = next_look_us(c, now_us);
	return len;
}
