#include "frisbeed/server.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/net/blockmap.h"
#include "frisbeed/server_carousel.h"
#include "frisbeed/server_pace.h"
#include "frisbeed/server_rate.h"
#include "frisbeed/server_repair.h"

enum {
	LINGER_US = 2000000,    /* -T < 0: after the last client left */
	JOIN2_PENDING_MAX = 64, /* one that does not fit asks again */
	/* What still comes is announced so often; when nothing does, more often, so
	 * that who lacks something notices; and less when nobody answers any more. */
	STATE_US = 1000000,
	STATE_IDLE_US = 100000,
	IDLE_PATIENCE_US = 10000000,
	SETTLE_MS = 200,    /* who joined so long ago hears all of it */
	WINDOW_US = 100000, /* between the first report and its answer */
	/* A chunk that was asked for in the old way gets so much of it at least. */
	LARGE_REQUEST = WIRE_CHUNK_BLOCKS / 2,
	/* What a client can take unasked when it joins; the most that it can ask for.
	 */
	FIRST_BLOCKS = 2 * WIRE_CHUNK_BLOCKS,
	GO_MAX_BLOCKS = 64 * WIRE_CHUNK_BLOCKS,
	HELD_US = 1000000, /* held back for so long, with no word from anybody */
	LEFT_KEPT = 64,    /* who left lately */
};
/* With -T < 0, clients that died without a word must not keep us for ever. */
static const uint64_t SILENCE_US = UINT64_C(1800) * 1000000;

static const uint32_t PARITY_ALL_USED = (1u << SERVER_PARITY_BUFFERS) - 1;

/* What is being done about one chunk.  A block is in `queued` until it is given
 * out for reading, then in `coming` until it is sent; never in both. */
struct item {
	struct item *next; /* in the FIFO */
	uint32_t chunk;
	uint32_t cursor; /* the next run starts here or behind */
	bool in_fifo;    /* exactly while queued is not empty */
	uint32_t bulk;   /* blocks of it that are no repair */
	bool asked;      /* ... because of old requests */
	struct blockmap queued, coming;
};

struct slot {
	struct server_run run;
	uint32_t at; /* blocks of it that are sent */
	bool ready;  /* read into memory */
	bool parity; /* so many of each group: */
	uint8_t count[WIREXT_GROUPS];
	uint32_t left; /* of all of them */
};

struct server_client {
	uint8_t ip[4];
	uint32_t id;
	bool ext;
};

/* The extension: see docs/protocol.md. */
struct server_ext {
	bool used;  /* somebody ever offered it */
	bool asked; /* ... or only asked for the answer */
	uint32_t clients;
	bool state_pending, stale;
	bool was_idle;        /* as announced */
	uint64_t state_us;    /* the last announcement */
	uint32_t state_first; /* of the next one's map */
	uint64_t heard_us;    /* the last of their messages */
	struct carousel carousel;
	/* Blocks that anybody sent or will send; the carousel goes on below the limit.
	 */
	uint64_t sent, pending, limit;
	bool carousel_turn; /* an old request has had its own */
	struct repair repair;
	uint32_t parity_used; /* a bit for each of the buffers */
};

struct server {
	struct server_config cfg;
	struct server_log log;
	struct server_stats stats;
	uint32_t nblocks, nchunks;

	struct item **items; /* by chunk; NULL: nothing asked */
	struct item *head, *tail;
	/* Which blocks went out before, by chunk; NULL: none. */
	struct blockmap **sent;
	struct blockmap sent_all; /* shared by chunks that went out whole */

	struct slot *slots; /* ring of cfg.ahead */
	uint32_t slot_head, slots_used;

	bool join_pending; /* one reply answers all who ask meanwhile */
	uint32_t join2_pending[JOIN2_PENDING_MAX];
	unsigned join2_count;

	struct pace pace;
	struct rate rate;     /* -D */
	uint64_t stamp_us;    /* the last time signal: then, ... */
	uint64_t stamp_sent;  /* ... after so many blocks */
	uint32_t stamp_epoch; /* ... in this epoch */

	uint64_t asked_us;                    /* last request or join */
	uint64_t left_us;                     /* when the last client left */
	uint64_t joined_us;                   /* ... came */
	uint32_t *sent_ms;                    /* by chunk: its last block, lastly */
	struct server_client *clients;        /* SERVER_CLIENTS_MAX */
	struct server_client left[LEFT_KEPT]; /* ring */
	uint32_t nleft;

	uint64_t now_us; /* as the shell said last */
	struct server_ext ext;
};

static uint32_t
chunk_blocks(const struct server *s, uint32_t chunk)
{
	uint32_t rest = s->nblocks - chunk * WIRE_CHUNK_BLOCKS;

	return rest < WIRE_CHUNK_BLOCKS ? rest : WIRE_CHUNK_BLOCKS;
}

struct server *
server_new(const struct server_config *cfg, uint64_t now_us)
{
	const uint64_t max_bytes = (uint64_t)INT32_MAX * WIRE_BLOCK_BYTES;

	assert(cfg->image_bytes > 0 && cfg->image_bytes <= max_bytes);
	assert(cfg->run_blocks >= 1 && cfg->run_blocks <= WIRE_CHUNK_BLOCKS);
	assert(cfg->ahead >= 1 && cfg->ahead <= SERVER_AHEAD_MAX);
	assert(cfg->burst >= 1 || cfg->gap_us == 0);
	assert(!cfg->ext.on || (cfg->whole_chunks && cfg->ext.session != 0));
	struct server *s = calloc(1, sizeof *s);
	if (s == NULL)
		return NULL;
	s->cfg = *cfg;
	s->nblocks = (uint32_t)((cfg->image_bytes + WIRE_BLOCK_BYTES - 1) /
				WIRE_BLOCK_BYTES);
	s->nchunks = (s->nblocks - 1) / WIRE_CHUNK_BLOCKS + 1;
	s->items = calloc(s->nchunks, sizeof *s->items);
	s->sent = calloc(s->nchunks, sizeof *s->sent);
	s->sent_ms = calloc(s->nchunks, sizeof *s->sent_ms);
	s->slots = calloc(cfg->ahead, sizeof *s->slots);
	s->clients = calloc(SERVER_CLIENTS_MAX, sizeof *s->clients);
	bool ext_failed = cfg->ext.on &&
	                  (carousel_init(&s->ext.carousel, s->nchunks) != 0 ||
			      repair_init(&s->ext.repair, s->nchunks, now_us) != 0);
	if (s->items == NULL || s->sent == NULL || s->sent_ms == NULL ||
	    s->slots == NULL || s->clients == NULL || ext_failed) {
		server_free(s);
		return NULL;
	}
	s->sent_all = blockmap_range(0, WIRE_CHUNK_BLOCKS);
	pace_init(&s->pace, cfg->burst, cfg->gap_us);
	if (cfg->dynamic)
		pace_refine(&s->pace);
	rate_init(&s->rate, pace_cap(&s->pace));
	s->now_us = s->asked_us = s->left_us = now_us;
	return s;
}

void
server_free(struct server *s)
{
	if (s == NULL)
		return;
	for (uint32_t c = 0; c < s->nchunks; c++) {
		if (s->items != NULL)
			free(s->items[c]);
		if (s->sent != NULL && s->sent[c] != &s->sent_all)
			free(s->sent[c]);
	}
	carousel_fini(&s->ext.carousel);
	repair_fini(&s->ext.repair);
	free(s->items);
	free(s->sent);
	free(s->sent_ms);
	free(s->slots);
	free(s->clients);
	free(s);
}

uint32_t
server_chunks(const struct server *s)
{
	return s->nchunks;
}

const struct server_stats *
server_stats(const struct server *s)
{
	return &s->stats;
}

void
server_set_log(struct server *s, const struct server_log *log)
{
	s->log = *log;
}

/* --- clients --- */

static struct server_client *
find_client(struct server *s, const uint8_t ip[4], uint32_t id)
{
	for (uint32_t i = 0; i < s->stats.clients; i++)
		if (s->clients[i].id == id && memcmp(s->clients[i].ip, ip, 4) == 0)
			return &s->clients[i];
	return NULL;
}

static void
client_joined(struct server *s, const uint8_t ip[4], uint32_t id, bool ext)
{
	s->stats.joins++;
	if (find_client(s, ip, id) != NULL)
		return; /* its last join or our reply was lost */
	s->joined_us = s->now_us;
	if (s->stats.clients < SERVER_CLIENTS_MAX) {
		struct server_client *c = &s->clients[s->stats.clients++];
		memcpy(c->ip, ip, 4);
		c->id = id;
		c->ext = ext;
		s->ext.clients += ext;
		if (s->stats.clients > s->stats.clients_max)
			s->stats.clients_max = s->stats.clients;
	}
	if (s->log.joined != NULL)
		s->log.joined(s->log.arg, ip, id);
}

static void
client_left(struct server *s, uint64_t now_us, const struct wire_msg *m)
{
	const struct wire_stats *stats = m->subtype == WIRE_LEAVE2 ? &m->u.leave2.stats
	                                                           : NULL;
	struct server_client *c = find_client(s, m->srcip, m->u.leave.clientid);

	s->stats.leaves++;
	if (c != NULL) {
		s->left[s->nleft++ % LEFT_KEPT] = *c;
		s->ext.clients -= c->ext;
		*c = s->clients[--s->stats.clients];
		s->left_us = now_us;
		if (s->ext.clients == 0)
			s->ext.heard_us = 0;
	}
	if (s->log.left != NULL)
		s->log.left(s->log.arg, m->srcip, m->u.leave.clientid,
		    m->u.leave.elapsed_s, stats);
}

/* The ports are read one after the other: what a client said on the second one may be
 * heard after its LEAVE. */
static bool
has_left(const struct server *s, const uint8_t ip[4], uint32_t id)
{
	uint32_t n = s->nleft < LEFT_KEPT ? s->nleft : LEFT_KEPT;

	for (uint32_t i = 0; i < n; i++)
		if (s->left[i].id == id && memcmp(s->left[i].ip, ip, 4) == 0)
			return true;
	return false;
}

/* --- the queue --- */

static struct item *
item_of(struct server *s, uint32_t chunk)
{
	struct item *it = s->items[chunk];

	if (it == NULL) {
		it = s->items[chunk] = calloc(1, sizeof *it);
		if (it != NULL)
			it->chunk = chunk;
	}
	return it;
}

static void
fifo_append(struct server *s, struct item *it)
{
	it->next = NULL;
	it->in_fifo = true;
	if (s->head == NULL)
		s->head = it;
	else
		s->tail->next = it;
	s->tail = it;
}

static struct item *
fifo_pop(struct server *s)
{
	struct item *it = s->head;

	s->head = it->next;
	it->in_fifo = false;
	it->cursor = 0;
	return it;
}

static void
item_unref(struct server *s, struct item *it)
{
	if (!it->in_fifo && blockmap_empty(&it->coming)) {
		s->items[it->chunk] = NULL;
		free(it);
	}
}

static void
fifo_prepend(struct server *s, struct item *it)
{
	it->next = s->head;
	it->in_fifo = true;
	if (s->head == NULL)
		s->tail = it;
	s->head = it;
}

/* How many blocks were most likely lost on their way to a client that asks for these.
 * None of a chunk whose beginning is all that it lacks: it came too late for that; nor
 * of one that went out before the last client came. */
static uint32_t
lost_blocks(const struct server *s, uint32_t chunk, const struct blockmap *asked)
{
	uint32_t n = blockmap_count(asked);
	struct blockmap start = blockmap_range(0, n);
	struct blockmap rest = blockmap_minus(*asked, &start);
	uint32_t joined_ms = (uint32_t)(s->joined_us / 1000) + SETTLE_MS;
	bool heard = s->sent[chunk] != NULL &&
	             (int32_t)(s->sent_ms[chunk] - joined_ms) > 0;
	/* One alone, unpaced, asks for no more at a time than it can take. */
	bool alone = s->cfg.gap_us == 0 && s->stats.clients < 2;
	bool late = blockmap_empty(&rest) && n < chunk_blocks(s, chunk);

	return heard && !late && !alone ? n : 0;
}

static void
note_lost(struct server *s, uint32_t chunk, const struct blockmap *asked)
{
	uint32_t n = lost_blocks(s, chunk, asked);

	if (n > 0)
		rate_asked_again(&s->rate, n);
}

static void
enqueue(struct server *s, uint64_t now_us, uint32_t chunk, const struct blockmap *asked)
{
	struct blockmap exists = blockmap_range(0, chunk_blocks(s, chunk));
	struct blockmap want = blockmap_and(exists, asked);
	uint32_t n = blockmap_count(&want);

	if (n == 0)
		return;
	s->asked_us = now_us;
	s->stats.blocks_asked += n;
	if (n < chunk_blocks(s, chunk))
		s->stats.lost_blocks += n;
	struct item *it = item_of(s, chunk);
	if (it == NULL)
		return; /* no memory: it will be asked again */
	want = blockmap_minus(want, &it->queued);
	want = blockmap_minus(want, &it->coming);
	uint32_t fresh = blockmap_count(&want);
	s->stats.blocks_merged += n - fresh;
	if (fresh == 0)
		return;
	note_lost(s, chunk, &want);
	blockmap_add(&it->queued, &want);
	s->ext.pending += fresh;
	if (!it->in_fifo)
		fifo_append(s, it);
	it->bulk += fresh;
	it->asked = true;
	if (s->ext.used)
		carousel_remove(&s->ext.carousel, chunk, &want);
}

/* --- input --- */

static void
bad_packet(struct server *s, const uint8_t from[4], const struct err *e)
{
	s->stats.bad_packets++;
	if (s->log.bad != NULL)
		s->log.bad(s->log.arg, from, e);
}

/* What of a chunk a client that begins to listen now will not get by itself. */
static void
want_chunk(struct server *s, uint32_t chunk)
{
	const struct item *it = s->items[chunk];
	struct blockmap want = blockmap_range(0, chunk_blocks(s, chunk));

	if (it != NULL) {
		want = blockmap_minus(want, &it->queued);
		want = blockmap_minus(want, &it->coming);
	}
	carousel_add(&s->ext.carousel, chunk, &want);
}

/* Somebody can take so many blocks from now on. */
static void
let_go(struct server *s, uint32_t blocks)
{
	uint64_t limit = s->ext.sent +
	                 (blocks < GO_MAX_BLOCKS ? blocks : GO_MAX_BLOCKS);

	if (s->ext.limit < limit)
		s->ext.limit = limit;
}

static void
join_ext(struct server *s, uint64_t now_us, uint32_t flags)
{
	s->ext.used = true;
	s->ext.heard_us = now_us;
	let_go(s, FIRST_BLOCKS);
	/* How many they are makes a difference. */
	s->ext.state_pending |= (s->ext.clients & (s->ext.clients - 1)) == 0;
	for (uint32_t c = 0; c < s->nchunks && !(flags & WIREXT_AGAIN); c++)
		want_chunk(s, c);
}

static void
handle_join(struct server *s, uint64_t now_us, const struct wire_msg *m,
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
	client_joined(s, m->srcip, m->u.join.clientid, ext);
	if (ext)
		join_ext(s, now_us, flags);
}

static void
handle_join2(struct server *s, uint64_t now_us, const struct wire_msg *m)
{
	uint32_t id = m->u.join2.clientid;

	if (s->ext.stale)
		return;
	s->asked_us = now_us;
	client_joined(s, m->srcip, id, false);
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
	bad_packet(s, from, &e);
	return false;
}

static void
handle_request(struct server *s, uint64_t now_us, const struct wire_msg *m)
{
	struct blockmap asked;

	if (!chunk_exists(s, m->srcip, m->u.req.chunk))
		return;
	s->stats.requests++;
	asked = blockmap_range(m->u.req.first, m->u.req.count);
	enqueue(s, now_us, m->u.req.chunk, &asked);
}

static void
handle_prequest(struct server *s, uint64_t now_us, const struct wire_msg *m)
{
	struct blockmap asked = blockmap_get(m->u.preq.map);

	if (!chunk_exists(s, m->srcip, m->u.preq.chunk))
		return;
	s->stats.prequests++;
	enqueue(s, now_us, m->u.preq.chunk, &asked);
}

/* --- the extension's messages --- */

static void
handle_want(struct server *s, uint64_t now_us, const struct wirext_msg *m)
{
	const struct wirext_map *map = &m->u.want.map;

	if (has_left(s, m->srcip, m->u.want.clientid))
		return;
	/* Of an earlier run of this server: we do not know it yet. */
	if (find_client(s, m->srcip, m->u.want.clientid) == NULL)
		client_joined(s, m->srcip, m->u.want.clientid, true);
	s->stats.wants++;
	s->asked_us = now_us;
	for (uint32_t i = 0; i < map->count && map->first + i < s->nchunks; i++)
		if (wirext_map_test(map, map->first + i))
			want_chunk(s, map->first + i);
}

static bool
is_idle(const struct server *s)
{
	return s->head == NULL && s->slots_used == 0 && s->ext.carousel.wanted == 0 &&
	       s->ext.repair.n == 0;
}

/* Nothing will be sent unless somebody asks: what is still wanted is held back until
 * someone can take it, and who wanted it may be gone. */
static bool
is_quiet(const struct server *s)
{
	bool held = s->ext.sent + s->ext.pending >= s->ext.limit;

	return s->head == NULL && s->slots_used == 0 && s->ext.repair.n == 0 &&
	       (s->ext.carousel.wanted == 0 || held);
}

static void
handle_reports(struct server *s, uint64_t now_us, const struct wirext_msg *m)
{
	uint64_t window = s->ext.clients < 2 ? 0
	                  : is_idle(s)       ? WINDOW_US / 4
	                                     : WINDOW_US;

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
follow_rate(struct server *s)
{
	pace_set(&s->pace, s->rate.now);
	if (s->rate.steps > 0)
		pace_scatter(&s->pace, s->now_us << 32 | s->cfg.ext.session | 1);
}

static void
handle_load(struct server *s, uint64_t now_us, const struct wirext_msg *m)
{
	s->stats.loads++;
	s->asked_us = now_us;
	if (s->cfg.dynamic &&
	    rate_complain(&s->rate, now_us, s->ext.sent, m->u.load.epoch,
		m->u.load.lost, m->u.load.of, m->u.load.queue))
		follow_rate(s);
}

static void
ext_input(struct server *s, uint64_t now_us, const void *pkt, size_t len,
    const uint8_t from[4])
{
	struct wirext_msg m;
	struct err e;

	if (!s->cfg.ext.on)
		return;
	if (wirext_get(&m, pkt, len, &e) != 0) {
		if (e.kind != ERR_UNSUPPORTED)
			bad_packet(s, from, &e);
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
	else if (m.kind == WIREXT_GO) {
		s->stats.gos++;
		s->asked_us = now_us;
		let_go(s, m.u.go.blocks);
	}
}

void
server_image_changed(struct server *s)
{
	s->ext.stale = true;
	s->ext.state_pending = s->ext.used;
}

void
server_input(struct server *s, uint64_t now_us, const void *pkt, size_t len,
    const uint8_t from[4])
{
	struct wire_msg m;
	struct err e;

	s->now_us = now_us;
	if (wirext_is(pkt, len)) {
		ext_input(s, now_us, pkt, len, from);
		return;
	}
	if (wire_get(&m, pkt, len, &e) != 0) {
		if (e.kind != ERR_UNSUPPORTED)
			bad_packet(s, from, &e);
		return;
	}
	if (!wire_source_is(&m, from)) {
		err_set(&e, ERR_FORMAT, "packet claims to come from %u.%u.%u.%u",
		    m.srcip[0], m.srcip[1], m.srcip[2], m.srcip[3]);
		bad_packet(s, from, &e);
		return;
	}
	if (m.type != WIRE_REQUEST)
		return; /* another server's, or our own */
	switch (m.subtype) {
	case WIRE_JOIN:
		handle_join(s, now_us, &m, pkt, len);
		break;
	case WIRE_JOIN2:
		handle_join2(s, now_us, &m);
		break;
	case WIRE_LEAVE:
	case WIRE_LEAVE2:
		client_left(s, now_us, &m);
		break;
	case WIRE_REQ:
		handle_request(s, now_us, &m);
		break;
	case WIRE_PREQ:
		handle_prequest(s, now_us, &m);
		break;
	default:
		break; /* a block */
	}
}

/* --- reading --- */

static struct slot *
slot_at(const struct server *s, uint32_t n)
{
	return &s->slots[(s->slot_head + n) % s->cfg.ahead];
}

/* The next chunk that somebody wants, when nothing else is asked for. */
static void
turn_carousel(struct server *s)
{
	struct blockmap want;
	uint32_t chunk;

	if ((s->head != NULL && !s->ext.carousel_turn) ||
	    s->ext.sent + s->ext.pending >= s->ext.limit ||
	    !carousel_next(&s->ext.carousel, &chunk, &want))
		return;
	s->ext.carousel_turn = false;
	struct item *it = item_of(s, chunk);
	if (it == NULL)
		return; /* no memory: it will be wanted again */
	want = blockmap_minus(want, &it->queued);
	want = blockmap_minus(want, &it->coming);
	blockmap_add(&it->queued, &want);
	it->bulk += blockmap_count(&want);
	s->ext.pending += blockmap_count(&want);
	if (it->in_fifo)
		return;
	if (blockmap_empty(&it->queued))
		item_unref(s, it);
	else
		fifo_prepend(s, it);
}

/* Parity of a chunk that lacks somewhere, or that was just given out. */
static bool
read_for_parity(struct server *s, struct server_run *run)
{
	uint32_t chunk, buf = 0;
	uint8_t count[WIREXT_GROUPS];

	while (s->ext.parity_used >> buf & 1)
		buf++;
	if (buf == SERVER_PARITY_BUFFERS ||
	    !repair_next(&s->ext.repair, s->now_us, &chunk, count))
		return false;
	s->ext.parity_used |= 1u << buf;
	struct slot *slot = slot_at(s, s->slots_used++);
	*slot = (struct slot){ .run = { .buf = s->cfg.ahead + buf,
				   .chunk = chunk,
				   .count = WIRE_CHUNK_BLOCKS },
		.parity = true };
	memcpy(slot->count, count, sizeof count);
	for (unsigned g = 0; g < WIREXT_GROUPS; g++)
		slot->left += count[g];
	s->ext.pending += slot->left;
	*run = slot->run;
	return true;
}

/* All of it was given out.  Large old requests and the carousel take turns. */
static void
finish_item(struct server *s, struct item *it)
{
	bool large = it->bulk >= LARGE_REQUEST;

	s->ext.carousel_turn |= large && it->asked;
	it->bulk = 0;
	it->asked = false;
	if (!large || s->ext.clients == 0 || !s->cfg.ext.parity)
		return;
	repair_add_unasked(&s->ext.repair, it->chunk, s->now_us, s->ext.clients);
	s->stats.unasked = s->ext.repair.unasked;
}

bool
server_read_next(struct server *s, struct server_run *run)
{
	if (s->slots_used == s->cfg.ahead)
		return false;
	if (s->ext.used && s->cfg.ext.parity && read_for_parity(s, run))
		return true;
	if (s->ext.used)
		turn_carousel(s);
	if (s->head == NULL)
		return false;
	/* What was asked again behind the cursor waits for its turn like all else. */
	if (blockmap_next(&s->head->queued, s->head->cursor) == WIRE_CHUNK_BLOCKS)
		fifo_append(s, fifo_pop(s));
	struct item *it = s->head;
	uint32_t first = blockmap_next(&it->queued, it->cursor);
	uint32_t n = blockmap_run(&it->queued, first, s->cfg.run_blocks);
	struct blockmap taken = blockmap_range(first, n);
	it->queued = blockmap_minus(it->queued, &taken);
	blockmap_add(&it->coming, &taken);
	it->cursor = first + n;
	struct slot *slot = slot_at(s, s->slots_used++);
	*slot = (struct slot){ .run = { .buf = (uint32_t)(slot - s->slots),
				   .chunk = it->chunk,
				   .first = first,
				   .count = n } };
	*run = slot->run;
	if (!blockmap_empty(&it->queued))
		return true;
	finish_item(s, fifo_pop(s));
	return true;
}

void
server_read_done(struct server *s, uint32_t buf)
{
	for (uint32_t i = 0; i < s->slots_used; i++) {
		struct slot *slot = slot_at(s, i);
		if (slot->run.buf != buf || slot->ready)
			continue;
		slot->ready = true;
		return;
	}
	assert(!"a buffer that is not being read");
}

/* --- pacing --- */

void
server_rate_to_burst(uint64_t bits_per_s, uint32_t *burst, uint64_t *gap_us)
{
	const uint64_t cost = (uint64_t)WIRE_BLOCK_COST_BITS *
	                      1000; /* of one in 1 ms */

	assert(bits_per_s > 0);
	if (bits_per_s > UINT32_MAX * cost / 100)
		bits_per_s = UINT32_MAX * cost / 100;
	/* The shortest gap in whole milliseconds whose whole number of blocks is
	 * at most 1 % below the rate, and never above it. */
	for (uint64_t ms = (cost - 1) / bits_per_s + 1;; ms++) {
		uint64_t blocks = bits_per_s * ms / cost;
		if (blocks * cost * 100 >= bits_per_s * ms * 99) {
			*burst = (uint32_t)blocks;
			*gap_us = ms * 1000;
			return;
		}
	}
}

void
server_set_rate(struct server *s, uint64_t bits_per_s)
{
	double per_s = (double)bits_per_s / WIRE_BLOCK_COST_BITS;

	pace_limit(&s->pace, per_s);
	rate_limit(&s->rate, per_s);
	if (s->cfg.dynamic && s->rate.begun)
		follow_rate(s);
}

/* --- output --- */

static size_t
put_answer(const struct server *s, struct server_out *out)
{
	struct wirext_answer a = {
		.flags = (s->cfg.ext.parity ? WIREXT_CAN_PARITY : 0) | WIREXT_PROBES,
		.port = s->cfg.ext.port,
		.session = s->cfg.ext.session,
		.clients = s->ext.clients
	};

	memcpy(a.identity, s->cfg.ext.identity, sizeof a.identity);
	return wirext_put_answer(out->pkt, out->len, sizeof out->pkt, &a);
}

static void
put_reply(struct server *s, struct server_out *out)
{
	struct wire_msg m = { .type = WIRE_REPLY };

	memcpy(m.srcip, s->cfg.srcip, 4);
	if (s->join_pending) {
		s->join_pending = false;
		m.subtype = WIRE_JOIN;
		m.u.join.blocks = s->nblocks;
	} else {
		m.subtype = WIRE_JOIN2;
		m.u.join2.clientid = s->join2_pending[0];
		m.u.join2.blocks = s->nblocks;
		m.u.join2.chunk_blocks = WIRE_CHUNK_BLOCKS;
		m.u.join2.block_bytes = WIRE_BLOCK_BYTES;
		m.u.join2.image_bytes = s->cfg.image_bytes;
		s->join2_count--;
		memmove(s->join2_pending, s->join2_pending + 1,
		    s->join2_count * sizeof s->join2_pending[0]);
	}
	out->kind = SERVER_OUT_PACKET;
	out->len = wire_put(&m, out->pkt, sizeof out->pkt);
	if (m.subtype == WIRE_JOIN && (s->ext.used || s->ext.asked))
		out->len = put_answer(s, out);
	assert(out->len > 0);
	s->stats.bytes_sent += out->len;
}

static void
note_sent(struct server *s, uint32_t chunk, uint32_t block)
{
	struct blockmap *sent = s->sent[chunk];

	s->sent_ms[chunk] = (uint32_t)(s->now_us / 1000);
	s->stats.blocks_sent++;
	s->ext.sent++;
	s->ext.pending--;
	s->stats.bytes_sent += WIRE_BLOCK_PACKET_BYTES;
	if (sent == NULL)
		sent = s->sent[chunk] = calloc(1, sizeof *sent);
	if (sent == NULL)
		return; /* only the count suffers */
	if (blockmap_test(sent, block)) {
		s->stats.blocks_resent++;
		return;
	}
	blockmap_set(sent, block);
	if (blockmap_count(sent) == chunk_blocks(s, chunk)) {
		free(sent);
		s->sent[chunk] = &s->sent_all;
	}
}

static void
put_block(struct server *s, struct slot *slot, struct server_out *out)
{
	uint32_t chunk = slot->run.chunk, block = slot->run.first + slot->at;
	struct item *it = s->items[chunk];

	out->kind = SERVER_OUT_BLOCK;
	out->buf = slot->run.buf;
	out->at = slot->at++;
	out->chunk = chunk;
	out->block = block;
	out->run_ends = slot->at == slot->run.count;
	blockmap_clear(&it->coming, block);
	item_unref(s, it);
	note_sent(s, chunk, block);
	if (out->run_ends) {
		s->slot_head = (s->slot_head + 1) % s->cfg.ahead;
		s->slots_used--;
	}
}

static bool
reply_pending(const struct server *s)
{
	return s->join_pending || s->join2_count > 0;
}

/* A parity block of the next group that needs one, in turns. */
static void
put_parity(struct server *s, struct slot *slot, struct server_out *out)
{
	uint32_t g = slot->at;

	while (slot->count[g] == 0)
		g = (g + 1) % WIREXT_GROUPS;
	slot->count[g]--;
	slot->at = (g + 1) % WIREXT_GROUPS;
	out->kind = SERVER_OUT_PARITY;
	out->buf = slot->run.buf;
	out->chunk = slot->run.chunk;
	out->group = g;
	out->index = repair_sent(&s->ext.repair, out->chunk, g);
	out->run_ends = --slot->left == 0;
	s->stats.parity_sent++;
	s->ext.sent++;
	s->ext.pending--;
	s->stats.bytes_sent += WIRE_BLOCK_PACKET_BYTES;
	if (out->run_ends) {
		s->ext.parity_used &= ~(1u << (slot->run.buf - s->cfg.ahead));
		s->slot_head = (s->slot_head + 1) % s->cfg.ahead;
		s->slots_used--;
	}
}

/* --- announcements --- */

static uint64_t
state_due_us(const struct server *s)
{
	if (s->ext.state_pending)
		return 0;
	if (s->ext.stale)
		return s->ext.used ? s->ext.state_us + STATE_IDLE_US : SERVER_NEVER;
	if (s->ext.clients == 0 &&
	    (s->ext.heard_us == 0 || s->now_us - s->ext.heard_us > IDLE_PATIENCE_US))
		return SERVER_NEVER;
	/* Who lacks something now says so soon. */
	if (is_idle(s) && !s->ext.was_idle)
		return 0;
	bool often = is_idle(s) && s->now_us - s->ext.heard_us < IDLE_PATIENCE_US;
	return s->ext.state_us + (often ? STATE_IDLE_US : STATE_US);
}

static bool
begun(const struct slot *slot)
{
	return slot->parity || slot->run.first > 0 || slot->at > 0;
}

/* Is anything of the chunk still to be sent?  Of the one that is being sent now,
 * everybody knows what has gone by. */
static bool
is_coming(const struct server *s, uint32_t chunk)
{
	if (s->slots_used > 0 && slot_at(s, 0)->run.chunk == chunk &&
	    begun(slot_at(s, 0)))
		return carousel_wants(&s->ext.carousel, chunk);
	return carousel_wants(&s->ext.carousel, chunk) || s->items[chunk] != NULL ||
	       repair_busy(&s->ext.repair, chunk);
}

static void
put_state(struct server *s, uint64_t now_us, struct server_out *out)
{
	struct wirext_msg m = { .kind = WIREXT_STATE, .session = s->cfg.ext.session };
	uint8_t bits[WIREXT_MAP_CHUNKS / 8] = { 0 };
	uint32_t first = s->ext.state_first, n = s->nchunks - first;

	n = n < WIREXT_MAP_CHUNKS ? n : WIREXT_MAP_CHUNKS;
	for (uint32_t i = 0; i < n; i++)
		if (is_coming(s, first + i))
			bits[i / 8] |= (uint8_t)(1 << i % 8);
	memcpy(m.srcip, s->cfg.srcip, 4);
	memcpy(m.u.state.identity, s->cfg.ext.identity, WIREXT_IDENTITY_BYTES);
	/* Who lacks something of the last chunk would wait for the next one for ever,
	 * if that is wanted only by some that have left. */
	bool held = is_quiet(s) && now_us - s->asked_us > HELD_US;
	m.u.state.flags = (is_idle(s) || held ? WIREXT_IDLE : 0) |
	                  (s->ext.stale ? WIREXT_STALE : 0);
	m.u.state.clients = s->ext.clients;
	m.u.state.chunks = s->nchunks;
	m.u.state.coming = (struct wirext_map){ first, n, bits };
	s->ext.state_first = first + n < s->nchunks ? first + n : 0;
	s->ext.state_pending = false;
	s->ext.was_idle = is_idle(s);
	s->ext.state_us = now_us;
	out->kind = SERVER_OUT_PACKET;
	out->len = wirext_put(&m, out->pkt, sizeof out->pkt);
	assert(out->len > 0);
	s->stats.bytes_sent += out->len;
}

/* A time signal is due, among the blocks. */
static bool
stamp_due(const struct server *s, uint64_t now_us)
{
	return s->cfg.dynamic && s->ext.used && s->ext.sent != s->stamp_sent &&
	       (now_us >= s->stamp_us + RATE_STAMP_US ||
		   s->stamp_epoch < s->rate.deaf_till);
}

static void
put_stamp(struct server *s, uint64_t now_us, struct server_out *out)
{
	struct wirext_msg m = { .kind = WIREXT_TIME, .session = s->cfg.ext.session };

	memcpy(m.srcip, s->cfg.srcip, 4);
	m.u.time.epoch = s->stamp_epoch = s->rate.epoch;
	m.u.time.sent = s->stamp_sent = s->ext.sent;
	m.u.time.time_us = s->stamp_us = now_us;
	out->kind = SERVER_OUT_PACKET;
	out->len = wirext_put(&m, out->pkt, sizeof out->pkt);
	assert(out->len > 0);
	s->stats.bytes_sent += out->len;
}

static void
judge_rate(struct server *s, uint64_t now_us)
{
	if (s->cfg.dynamic &&
	    rate_judge(&s->rate, now_us, s->ext.sent, s->ext.clients == 0))
		follow_rate(s);
	s->stats.rate = s->rate.now;
	s->stats.slowed = s->rate.steps;
}

static bool
block_ready(const struct server *s)
{
	return s->slots_used > 0 && slot_at(s, 0)->ready;
}

bool
server_output(struct server *s, uint64_t now_us, struct server_out *out)
{
	out->kind = SERVER_OUT_NONE;
	s->now_us = now_us;
	if (reply_pending(s)) {
		put_reply(s, out);
		return true;
	}
	if (now_us >= state_due_us(s)) {
		put_state(s, now_us, out);
		return true;
	}
	if (s->ext.stale || !block_ready(s) ||
	    pace_deadline_us(&s->pace, now_us) > now_us)
		return false;
	if (stamp_due(s, now_us)) {
		put_stamp(s, now_us, out);
		return true;
	}
	judge_rate(s, now_us);
	if (pace_deadline_us(&s->pace, now_us) > now_us)
		return false;
	pace_spend(&s->pace, now_us);
	if (slot_at(s, 0)->parity)
		put_parity(s, slot_at(s, 0), out);
	else
		put_block(s, slot_at(s, 0), out);
	return true;
}

/* When -T runs out if nothing more happens. */
static uint64_t
end_us(const struct server *s)
{
	if (s->cfg.idle_us == 0 || !is_quiet(s) || reply_pending(s))
		return SERVER_NEVER;
	if (s->cfg.idle_us > 0)
		return s->asked_us + (uint64_t)s->cfg.idle_us;
	if (s->stats.joins == 0)
		return SERVER_NEVER;
	if (s->stats.clients > 0)
		return s->asked_us + SILENCE_US;
	/* Who still asks is a client whose join was lost. */
	return (s->asked_us > s->left_us ? s->asked_us : s->left_us) + LINGER_US;
}

uint64_t
server_deadline(const struct server *s, uint64_t now_us)
{
	if (reply_pending(s))
		return now_us;
	uint64_t at = s->ext.stale     ? SERVER_NEVER
	              : block_ready(s) ? pace_deadline_us(&s->pace, now_us)
	                               : end_us(s);
	if (s->ext.used && state_due_us(s) < at)
		at = state_due_us(s);
	/* A free buffer is the shell's sign to ask again, not the time. */
	if (!s->ext.stale && s->slots_used < s->cfg.ahead &&
	    s->ext.parity_used != PARITY_ALL_USED && repair_due_us(&s->ext.repair) < at)
		at = repair_due_us(&s->ext.repair);
	return at > now_us ? at : now_us;
}

bool
server_done(const struct server *s, uint64_t now_us)
{
	return now_us >= end_us(s);
}
