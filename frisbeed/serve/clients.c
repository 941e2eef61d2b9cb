/* clients.c: the table of clients of one session.  Streams and unicast.c note what they
 * hear, in their own threads; serve_stats.c copies the rows in any thread.  A lock keeps
 * rows whole. */
#include "frisbeed/serve/clients.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/lru.h"
#include "common/base/random_bytes.h"
#include "common/wire/blockmap.h"
#include "common/wire/wire.h"
#include "common/wire/wirext.h"

/* A client that lacks more than this part of what is sent has a slow link. */
static const double SLOW_LINK_LOSS = 0.2;

/* How many blocks of a chunk a client has named as lost, at most at once.  It names them again
 * until they come, which are no further losses. */
struct named {
	uint32_t chunk, blocks;
};

enum { NAMED_CHUNKS = 64 }; /* more than a client has at once, so hardly any share an entry */

struct clients {
	pthread_mutex_t lock;
	uint32_t chunks; /* of the image; 0: not known */
	uint32_t done;   /* clients that said last that they have the whole image */
	uint32_t forgotten; /* of these, clients whose rows other clients have now */
	uint32_t endings; /* loads that have ended */
	struct lru order;
	struct client_row *row;
	struct named (*named)[NAMED_CHUNKS]; /* of each row, by chunk % NAMED_CHUNKS */
};

struct clients *
clients_new(uint32_t rows_max)
{
	struct clients *c = calloc(1, sizeof *c);
	uint64_t seed;

	if (c == NULL)
		return NULL;
	pthread_mutex_init(&c->lock, NULL);
	random_bytes(&seed, sizeof seed);
	c->row = calloc(rows_max, sizeof *c->row);
	c->named = calloc(rows_max, sizeof *c->named);
	if (c->row == NULL || c->named == NULL || lru_init(&c->order, rows_max, seed) != 0) {
		clients_free(c);
		return NULL;
	}
	return c;
}

void
clients_free(struct clients *c)
{
	if (c == NULL)
		return;
	pthread_mutex_destroy(&c->lock);
	lru_fini(&c->order);
	free(c->named);
	free(c->row);
	free(c);
}

/* A load begins: nothing was named in it. */
static void
forget_named(struct clients *c, const struct client_row *r)
{
	memset(c->named[r - c->row], 0, sizeof c->named[0]);
}

static void
note_lost(struct clients *c, struct client_row *r, uint32_t chunk, uint32_t blocks)
{
	struct named *n = &c->named[r - c->row][chunk % NAMED_CHUNKS];
	uint32_t before = n->chunk == chunk ? n->blocks : 0;

	if (blocks <= before)
		return;
	r->blocks_lost += blocks - before;
	*n = (struct named){ .chunk = chunk, .blocks = blocks };
}

static uint64_t
key_of(const uint8_t ip[4], uint16_t port)
{
	return (uint64_t)ip[0] << 40 | (uint64_t)ip[1] << 32 | (uint64_t)ip[2] << 24 |
	       (uint64_t)ip[3] << 16 | port;
}

static uint32_t
find(const struct clients *c, const uint8_t ip[4], uint16_t port)
{
	uint32_t i = lru_first(&c->order, key_of(ip, port));

	while (i != LRU_NONE &&
	       (c->row[i].port != port || memcmp(c->row[i].ip, ip, 4) != 0))
		i = lru_next(&c->order, i);
	return i;
}

/* The row of a client; if there is none, it is made.  asks: the client wants something; the
 * rows of clients that only join or leave are replaced first. */
static struct client_row *
row_of(struct clients *c, uint64_t now_us, const uint8_t ip[4], uint16_t port,
    uint64_t sent, bool asks)
{
	uint32_t i = find(c, ip, port);
	bool old;

	if (i == LRU_NONE) {
		i = lru_add(&c->order, key_of(ip, port), &old);
		c->forgotten += old && c->row[i].whole;
		c->row[i] = (struct client_row){
			.port = port, .first_us = now_us, .began_us = now_us, .sent_before = sent
		};
		memcpy(c->row[i].ip, ip, 4);
		forget_named(c, &c->row[i]);
	}
	lru_touch(&c->order, i, asks);
	c->row[i].heard_us = now_us;
	c->row[i].lapsed |= c->row[i].gone;
	c->row[i].gone = false;
	c->row[i].messages++;
	return &c->row[i];
}

static void
note_leave(struct clients *c, struct client_row *r, const struct wire_msg *m)
{
	const struct wire_stats *s = &m->u.leave2.stats;

	if (!r->left)
		r->ending = ++c->endings;
	r->left = true;
	r->seconds = m->u.leave.elapsed_s > 0 ? (uint32_t)m->u.leave.elapsed_s : 0;
	if (m->subtype != WIRE_LEAVE2)
		return;
	r->told = true;
	r->bytes_written = s->bytes_written;
	r->stalls = s->idle_timeouts;
	r->dropped = s->dropped_no_buffer;
	r->duplicates = s->dup_finished + s->dup_in_progress;
}

static void
note_outcome(struct clients *c, struct client_row *r, const void *pkt, size_t len)
{
	bool whole;

	/* A client that has sent nothing but this LEAVE2 has loaded nothing. */
	if (!wirext_get_outcome(pkt, len, &whole) || r->messages < 2)
		return;
	c->done += (uint32_t)whole - (uint32_t)r->whole;
	r->outcome_known = true;
	r->whole = whole;
	if (whole)
		r->blocks = r->of;
}

/* Keeps how the load ended, because the client may join again before anybody looks. */
static void
keep_ending(struct client_row *r)
{
	r->last = (struct client_ending){ .how = client_row_doing(r, 0),
		.began_us = r->began_us,
		.ended_us = r->heard_us };
	if (!r->left)
		return;
	r->last.bytes_written = r->bytes_written;
	r->last.seconds = r->seconds;
}

/* The client joins.  What it said at the end of an earlier load says nothing of this one. */
static void
note_join(struct clients *c, struct client_row *r, bool offer)
{
	if (r->left || r->lapsed) {
		forget_named(c, r);
		r->began_us = r->heard_us;
		r->outcome_known = false;
	}
	r->joins++;
	r->left = r->lapsed = false;
	r->extension = offer;
}

static void
note_base(struct clients *c, struct client_row *r, const struct wire_msg *m, bool offer)
{
	switch (m->subtype) {
	case WIRE_JOIN:
	case WIRE_JOIN2:
		note_join(c, r, offer);
		break;
	case WIRE_LEAVE:
	case WIRE_LEAVE2:
		note_leave(c, r, m);
		break;
	case WIRE_PREQ: {
		struct blockmap map = blockmap_get(m->u.preq.map);
		note_lost(c, r, m->u.preq.chunk, blockmap_count(&map));
		break;
	}
	default:
		break;
	}
}

static void
note_nack(struct clients *c, struct client_row *r, const struct wirext_nack *k)
{
	uint32_t blocks = 0;

	for (unsigned g = 0; g < WIREXT_GROUPS; g++)
		blocks += k->lack[g];
	note_lost(c, r, k->chunk, blocks);
}

static void
note_ext(
    struct clients *c, struct client_row *r, const struct wirext_msg *m, uint64_t now_us)
{
	r->extension = true;
	if (m->told.is && m->told.chunks <= c->chunks) {
		r->doing = m->told.doing;
		r->blocks = (uint64_t)m->told.chunks * WIRE_CHUNK_BLOCKS;
		r->of = (uint64_t)c->chunks * WIRE_CHUNK_BLOCKS;
		r->told_us = now_us;
	}
	for (uint32_t i = 0; m->kind == WIREXT_NACK && i < m->u.nack.n; i++)
		note_nack(c, r, &m->u.nack.at[i]);
}

void
clients_heard(struct clients *c, uint64_t now_us, const void *pkt, size_t len,
    const uint8_t from[4], uint16_t port, uint64_t sent)
{
	struct wirext_msg x;
	struct wire_msg m;
	uint32_t flags;
	struct err e;

	if (wirext_is(pkt, len)) {
		if (wirext_get(&x, pkt, len, &e) != 0 ||
		    memcmp(x.srcip, from, 4) != 0 ||
		    (x.kind != WIREXT_WANT && x.kind != WIREXT_NACK &&
			x.kind != WIREXT_CREDIT && x.kind != WIREXT_CREDIT_AT &&
			x.kind != WIREXT_CONGESTION))
			return;
		pthread_mutex_lock(&c->lock);
		note_ext(c, row_of(c, now_us, from, port, sent, true), &x, now_us);
		pthread_mutex_unlock(&c->lock);
		return;
	}
	if (wire_get(&m, pkt, len, &e) != 0 || !wire_source_is(&m, from) ||
	    m.type != WIRE_REQUEST || m.subtype == WIRE_BLOCK)
		return;
	bool offer = m.subtype == WIRE_JOIN && wirext_get_offer(pkt, len, &flags);
	if (offer && (flags & WIREXT_PROBES) != 0)
		return; /* the client only asks */
	bool asks = m.subtype == WIRE_REQ || m.subtype == WIRE_PREQ;
	pthread_mutex_lock(&c->lock);
	struct client_row *r = row_of(c, now_us, from, port, sent, asks);
	note_base(c, r, &m, offer);
	if (m.subtype == WIRE_LEAVE2)
		note_outcome(c, r, pkt, len);
	if (m.subtype == WIRE_LEAVE || m.subtype == WIRE_LEAVE2)
		keep_ending(r);
	pthread_mutex_unlock(&c->lock);
}

void
clients_progress(
    struct clients *c, const uint8_t ip[4], uint16_t port, uint64_t blocks, uint64_t of)
{
	pthread_mutex_lock(&c->lock);
	uint32_t i = find(c, ip, port);
	if (i != LRU_NONE) {
		c->row[i].blocks = blocks < of ? blocks : of;
		c->row[i].of = of;
		c->row[i].told_us = c->row[i].heard_us;
	}
	pthread_mutex_unlock(&c->lock);
}

void
clients_image(struct clients *c, uint32_t chunks)
{
	pthread_mutex_lock(&c->lock);
	c->chunks = chunks;
	pthread_mutex_unlock(&c->lock);
}

void
clients_gone(struct clients *c, const uint8_t ip[4])
{
	pthread_mutex_lock(&c->lock);
	uint32_t i = find(c, ip, 0);
	if (i != LRU_NONE && !c->row[i].left && !c->row[i].gone) {
		c->row[i].gone = true;
		c->row[i].ending = ++c->endings;
		keep_ending(&c->row[i]);
	}
	pthread_mutex_unlock(&c->lock);
}

void
clients_aside(struct clients *c,
    bool (*is)(void *arg, const uint8_t ip[4], double *share_received), void *arg)
{
	pthread_mutex_lock(&c->lock);
	for (int protected = 0; protected < 2; protected++)
		for (uint32_t i = lru_newest(&c->order, protected); i != LRU_NONE;
		     i = lru_older(&c->order, i))
			c->row[i].aside = c->row[i].port == 0 &&
			                  is(arg, c->row[i].ip,
					      &c->row[i].share_received);
	pthread_mutex_unlock(&c->lock);
}

void
clients_count(struct clients *c, uint32_t *known, uint32_t *done)
{
	pthread_mutex_lock(&c->lock);
	*known = c->order.n + c->forgotten;
	*done = c->done;
	pthread_mutex_unlock(&c->lock);
}

bool
clients_are_loading(struct clients *c)
{
	bool loading = false;

	pthread_mutex_lock(&c->lock);
	for (uint32_t i = lru_newest(&c->order, true); i != LRU_NONE && !loading;
	     i = lru_older(&c->order, i))
		loading = c->row[i].port == 0 && !c->row[i].left && !c->row[i].gone;
	pthread_mutex_unlock(&c->lock);
	return loading;
}

/* The one of two rows that was heard later. */
static uint32_t
later(const struct clients *c, const uint32_t at[2])
{
	if (at[0] == LRU_NONE || at[1] == LRU_NONE)
		return at[0] == LRU_NONE;
	return c->row[at[1]].heard_us > c->row[at[0]].heard_us;
}

uint32_t
clients_copy(struct clients *c, struct client_row *rows, uint32_t max, uint32_t *total)
{
	uint32_t n = 0;

	pthread_mutex_lock(&c->lock);
	uint32_t at[2] = { lru_newest(&c->order, false), lru_newest(&c->order, true) };
	for (uint32_t k = later(c, at); at[k] != LRU_NONE && n < max;
	     k = later(c, at)) {
		rows[n++] = c->row[at[k]];
		at[k] = lru_older(&c->order, at[k]);
	}
	*total = c->order.n;
	pthread_mutex_unlock(&c->lock);
	return n;
}

double
client_row_loss(const struct client_row *r, uint64_t sent)
{
	uint64_t since = sent > r->sent_before ? sent - r->sent_before : 0;

	if (since == 0)
		return 0;
	return r->blocks_lost < since ? (double)r->blocks_lost / (double)since : 1;
}

enum client_doing
client_row_doing(const struct client_row *r, uint64_t sent)
{
	if (r->left && r->outcome_known)
		return r->whole ? CLIENT_DOING_DONE : CLIENT_DOING_FAILED;
	if (r->left)
		return CLIENT_DOING_LEFT;
	if (r->gone)
		return CLIENT_DOING_GONE;
	if (r->doing == WIREXT_DOING_FLUSHING)
		return CLIENT_DOING_FLUSHING;
	if (r->aside)
		return CLIENT_DOING_ASIDE;
	if (client_row_loss(r, sent) > SLOW_LINK_LOSS)
		return CLIENT_DOING_SLOW_LINK;
	return r->doing == WIREXT_DOING_DISK ? CLIENT_DOING_SLOW_DISK
	                                     : CLIENT_DOING_LOADING;
}

const char *
client_doing_name(enum client_doing d)
{
	static const char *const names[] = {
		[CLIENT_DOING_GONE] = "gone",
		[CLIENT_DOING_FAILED] = "failed",
		[CLIENT_DOING_ASIDE] = "set aside",
		[CLIENT_DOING_SLOW_LINK] = "slow link",
		[CLIENT_DOING_SLOW_DISK] = "slow disk",
		[CLIENT_DOING_LOADING] = "loading",
		[CLIENT_DOING_FLUSHING] = "flushing",
		[CLIENT_DOING_LEFT] = "left",
		[CLIENT_DOING_DONE] = "done",
	};

	return names[d];
}

double
client_row_rate(const struct client_row *r)
{
	if (r->of == 0 || r->told_us <= r->first_us)
		return 0;
	return (double)r->blocks * 1e6 / (double)(r->told_us - r->first_us);
}

double
client_row_seconds_left(const struct client_row *r)
{
	double rate = client_row_rate(r);

	return rate > 0 && r->blocks < r->of ? (double)(r->of - r->blocks) / rate : 0;
}
