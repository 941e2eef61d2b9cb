#include "frisbeed/clients.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/net/blockmap.h"
#include "common/net/wire.h"
#include "common/net/wirext.h"

#define NONE UINT32_MAX

/* Rows by address, and in the order in which they were heard. */
struct entry {
	struct client_row row;
	uint32_t chain;        /* the next of the same bucket */
	uint32_t newer, older; /* NONE at the ends */
};

struct clients {
	pthread_mutex_t lock;
	uint32_t max, n, buckets;
	uint32_t newest, oldest;
	uint32_t *bucket; /* the first entry, or NONE */
	struct entry *entry;
};

struct clients *
clients_new(uint32_t rows_max)
{
	struct clients *c = calloc(1, sizeof *c);

	if (c == NULL)
		return NULL;
	pthread_mutex_init(&c->lock, NULL);
	c->max = c->buckets = rows_max;
	c->newest = c->oldest = NONE;
	c->bucket = malloc(c->buckets * sizeof *c->bucket);
	c->entry = calloc(rows_max, sizeof *c->entry);
	if (c->bucket == NULL || c->entry == NULL) {
		clients_free(c);
		return NULL;
	}
	for (uint32_t i = 0; i < c->buckets; i++)
		c->bucket[i] = NONE;
	return c;
}

void
clients_free(struct clients *c)
{
	if (c == NULL)
		return;
	pthread_mutex_destroy(&c->lock);
	free(c->bucket);
	free(c->entry);
	free(c);
}

static uint32_t *
bucket_of(struct clients *c, const uint8_t ip[4], uint16_t port)
{
	uint64_t key = (uint64_t)ip[0] << 40 | (uint64_t)ip[1] << 32 |
	               (uint64_t)ip[2] << 24 | (uint64_t)ip[3] << 16 | port;

	key *= UINT64_C(0x9e3779b97f4a7c15);
	return &c->bucket[(key >> 32) % c->buckets];
}

static void
unlink_order(struct clients *c, uint32_t i)
{
	struct entry *x = &c->entry[i];

	if (x->newer != NONE)
		c->entry[x->newer].older = x->older;
	else
		c->newest = x->older;
	if (x->older != NONE)
		c->entry[x->older].newer = x->newer;
	else
		c->oldest = x->newer;
}

static void
link_newest(struct clients *c, uint32_t i)
{
	struct entry *x = &c->entry[i];

	x->newer = NONE;
	x->older = c->newest;
	if (c->newest != NONE)
		c->entry[c->newest].newer = i;
	else
		c->oldest = i;
	c->newest = i;
}

static void
unlink_bucket(struct clients *c, uint32_t i)
{
	uint32_t *at = bucket_of(c, c->entry[i].row.ip, c->entry[i].row.port);

	while (*at != i)
		at = &c->entry[*at].chain;
	*at = c->entry[i].chain;
}

static uint32_t
find(struct clients *c, const uint8_t ip[4], uint16_t port)
{
	uint32_t i = *bucket_of(c, ip, port);

	while (i != NONE &&
	       (c->entry[i].row.port != port || memcmp(c->entry[i].row.ip, ip, 4) != 0))
		i = c->entry[i].chain;
	return i;
}

/* A row for it, perhaps the one of who was heard longest ago. */
static uint32_t
add(struct clients *c, const uint8_t ip[4], uint16_t port)
{
	uint32_t i = c->n < c->max ? c->n++ : c->oldest;

	if (c->oldest == i) {
		unlink_order(c, i);
		unlink_bucket(c, i);
	}
	c->entry[i].row = (struct client_row){ .port = port };
	memcpy(c->entry[i].row.ip, ip, 4);
	uint32_t *bucket = bucket_of(c, ip, port);
	c->entry[i].chain = *bucket;
	*bucket = i;
	link_newest(c, i);
	return i;
}

static struct client_row *
row_of(struct clients *c, uint64_t now_us, const uint8_t ip[4], uint16_t port,
    uint64_t sent)
{
	uint32_t i = find(c, ip, port);

	if (i == NONE) {
		i = add(c, ip, port);
		c->entry[i].row.first_us = now_us;
		c->entry[i].row.sent_before = sent;
	} else if (i != c->newest) {
		unlink_order(c, i);
		link_newest(c, i);
	}
	c->entry[i].row.heard_us = now_us;
	c->entry[i].row.messages++;
	return &c->entry[i].row;
}

static void
note_leave(struct client_row *r, const struct wire_msg *m)
{
	const struct wire_stats *s = &m->u.leave2.stats;

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
note_base(struct client_row *r, const struct wire_msg *m, bool offer)
{
	switch (m->subtype) {
	case WIRE_JOIN:
	case WIRE_JOIN2:
		r->joins++;
		r->left = false;
		r->extension = offer;
		break;
	case WIRE_LEAVE:
	case WIRE_LEAVE2:
		note_leave(r, m);
		break;
	case WIRE_PREQ: {
		struct blockmap map = blockmap_get(m->u.preq.map);
		r->blocks_lost += blockmap_count(&map);
		break;
	}
	default:
		break;
	}
}

static void
note_ext(struct client_row *r, const struct wirext_msg *m)
{
	r->extension = true;
	for (uint32_t i = 0; m->kind == WIREXT_NAK && i < m->u.nak.n; i++)
		for (unsigned g = 0; g < WIREXT_GROUPS; g++)
			r->blocks_lost += m->u.nak.at[i].lack[g];
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
		    (x.kind != WIREXT_WANT && x.kind != WIREXT_NAK &&
			x.kind != WIREXT_GO))
			return;
		pthread_mutex_lock(&c->lock);
		note_ext(row_of(c, now_us, from, port, sent), &x);
		pthread_mutex_unlock(&c->lock);
		return;
	}
	if (wire_get(&m, pkt, len, &e) != 0 || !wire_source_is(&m, from) ||
	    m.type != WIRE_REQUEST || m.subtype == WIRE_BLOCK)
		return;
	bool offer = m.subtype == WIRE_JOIN && wirext_get_offer(pkt, len, &flags);
	if (offer && (flags & WIREXT_PROBES) != 0)
		return; /* it only asks */
	pthread_mutex_lock(&c->lock);
	note_base(row_of(c, now_us, from, port, sent), &m, offer);
	pthread_mutex_unlock(&c->lock);
}

void
clients_progress(
    struct clients *c, const uint8_t ip[4], uint16_t port, uint64_t blocks, uint64_t of)
{
	pthread_mutex_lock(&c->lock);
	uint32_t i = find(c, ip, port);
	if (i != NONE) {
		c->entry[i].row.blocks = blocks < of ? blocks : of;
		c->entry[i].row.of = of;
	}
	pthread_mutex_unlock(&c->lock);
}

uint32_t
clients_copy(struct clients *c, struct client_row *rows, uint32_t max, uint32_t *total)
{
	uint32_t n = 0;

	pthread_mutex_lock(&c->lock);
	for (uint32_t i = c->newest; i != NONE && n < max; i = c->entry[i].older)
		rows[n++] = c->entry[i].row;
	*total = c->n;
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
