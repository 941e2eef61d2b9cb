/* client_urgent.c: chunks and blocks that are needed now.  The shell says which, through
 * client_urgent() and client_read(); the engine asks for them before anything else, in its only
 * thread. */
#include "frisbee/client/client_urgent.h"

#include <string.h>

#include "frisbee/client/client_ext_impl.h"

enum {
	/* Blocks of which none has come are asked for again after this time, because the
	 * request was lost, or many other blocks wait.  The time doubles with each try,
	 * up to eight times its length. */
	AGAIN_US = 50000,
	AGAIN_DOUBLED = 3,
	/* While URGENT_DATA comes, the server may be busy with other requests; but for no
	 * longer than this after a request. */
	FLOWS_US = 400000,
	/* The most blocks of one message: a server without a pace sends all of them at
	 * once. */
	BLOCKS_MOST = WIRE_CHUNK_BLOCKS,
};

static void
forget(struct client_urgent *u, uint32_t i)
{
	u->n--;
	memmove(u->at + i, u->at + i + 1, (u->n - i) * sizeof u->at[0]);
}

void
client_urgent_forget_done(struct client_urgent *u, const struct client_chunks *k)
{
	for (uint32_t i = u->n; i-- > 0;)
		if (u->at[i].chunk >= k->n ||
		    client_chunks_is(k, u->at[i].chunk, CHUNK_DONE))
			forget(u, i);
}

/* The entry of this chunk; NULL: nothing of it is needed now. */
static struct client_awaited *
find(struct client_urgent *u, uint32_t chunk)
{
	for (uint32_t i = 0; i < u->n; i++)
		if (u->at[i].chunk == chunk)
			return &u->at[i];
	return NULL;
}

static struct client_awaited *
find_or_add(struct client_urgent *u, uint32_t chunk)
{
	struct client_awaited *a = find(u, chunk);

	if (a != NULL)
		return a;
	if (u->n == CLIENT_URGENT_MAX)
		forget(u, 0);
	a = &u->at[u->n++];
	*a = (struct client_awaited){ .chunk = chunk };
	return a;
}

bool
client_urgent_add(struct client_urgent *u, uint32_t chunk)
{
	struct client_awaited *a = find_or_add(u, chunk);

	if (a->whole)
		return false;
	a->whole = true;
	a->next_us = 0;
	return true;
}

bool
client_urgent_add_blocks(
    struct client_urgent *u, uint32_t chunk, const struct blockmap *need)
{
	struct client_awaited *a = find_or_add(u, chunk);
	struct blockmap fresh = blockmap_minus(*need, &a->lack);

	if (blockmap_empty(&fresh))
		return false;
	blockmap_add(&a->lack, &fresh);
	a->next_us = 0;
	return true;
}

bool
client_urgent_is(const struct client_urgent *u, uint32_t chunk)
{
	for (uint32_t i = 0; i < u->n; i++)
		if (u->at[i].chunk == chunk)
			return u->at[i].whole;
	return false;
}

bool
client_urgent_came(struct client_urgent *u, uint32_t chunk, uint32_t first,
    uint32_t count, uint64_t again_us)
{
	struct client_awaited *a = find(u, chunk);

	if (a == NULL)
		return false;
	struct blockmap those = blockmap_range(first, count);
	struct blockmap was = blockmap_and(those, &a->lack);
	a->lack = blockmap_minus(a->lack, &those);
	a->next_us = again_us;
	if (a->tries > 0 && again_us > a->asked_us + CLIENT_PATIENCE_US)
		a->next_us = a->asked_us + CLIENT_PATIENCE_US;
	a->comes = true;
	if (!a->whole && blockmap_empty(&a->lack))
		forget(u, (uint32_t)(a - u->at));
	return !blockmap_empty(&was);
}

void
client_urgent_flows(struct client_urgent *u, uint64_t now_us)
{
	for (uint32_t i = 0; i < u->n; i++) {
		struct client_awaited *a = &u->at[i];
		uint64_t next = now_us + AGAIN_US, last = a->asked_us + FLOWS_US;
		next = next < last ? next : last;
		if (a->tries > 0 && !a->comes && a->next_us < next)
			a->next_us = next;
	}
}

bool
client_urgent_lacks_buffer(const struct client_urgent *u, const struct client_chunks *k)
{
	for (uint32_t i = 0; i < u->n; i++)
		if (u->at[i].whole && u->at[i].chunk < k->n &&
		    client_chunks_is(k, u->at[i].chunk, CHUNK_OPEN))
			return true;
	return false;
}

void
client_urgent(struct client *c, uint64_t now_us, uint32_t chunk)
{
	if (c->cfg.in_order || !client_urgent_add(&c->urgent, chunk))
		return;
	if (chunk < c->chunks.n)
		client_chunks_unnote(&c->chunks, chunk, CHUNK_SKIPPED);
	client_schedule_now(&c->schedule, now_us);
}

static bool
server_knows(const struct client *c)
{
	return c->session.on && c->session.urgent;
}

void
client_read(
    struct client *c, uint64_t now_us, uint32_t chunk, const struct blockmap *need)
{
	if (client_urgent_add_blocks(&c->urgent, chunk, need))
		client_schedule_now(&c->schedule, now_us);
	if (c->chunks.n > 0 && !server_knows(c))
		client_urgent(c, now_us, chunk);
}

/* Is this chunk to be asked for in the base protocol now?  It is not while it is being
 * sent, or while a request for it may still be answered. */
static bool
is_to_be_requested(struct client *c, uint64_t now_us, uint32_t chunk)
{
	bool in_pass = client_position_in_pass(&c->position, chunk);

	if (client_chunks_waits(
		&c->chunks, chunk, now_us, client_requests_redo_us(&c->requests)))
		return false;
	if (client_chunks_is(&c->chunks, chunk, CHUNK_OPEN))
		return !in_pass && c->bufs.nfree > 0;
	const struct client_buffer *b = client_filling(c, chunk);
	return b->state == BUFFER_FILLING &&
	       !client_awaits_pass(b, now_us, in_pass) && now_us >= b->damage.rest_us;
}

/* A request of the base protocol for one of the chunks. */
static size_t
say_request(struct client *c, uint64_t now_us, void *pkt)
{
	for (uint32_t i = 0; i < c->urgent.n; i++) {
		uint32_t chunk = c->urgent.at[i].chunk;
		if (!is_to_be_requested(c, now_us, chunk))
			continue;
		struct client_buffer *b = client_filling(c, chunk);
		struct blockmap want = b != NULL ? client_lack(b)
		                                 : client_first_blocks(c, chunk);
		if (b != NULL)
			client_damage_asked(&b->damage);
		return client_ask(c, now_us, chunk, &want, pkt);
	}
	return 0;
}

/* What is to be asked for of a chunk now. */
static struct blockmap
wanted(struct client *c, const struct client_awaited *a)
{
	struct blockmap want = a->lack, more = { { 0 } };
	struct client_buffer *b = client_filling(c, a->chunk);

	if (!a->whole)
		return want;
	if (b != NULL && b->state == BUFFER_FILLING) {
		more = client_lack(b);
		client_damage_asked(&b->damage);
	} else if (b == NULL && c->bufs.nfree > 0) {
		more = client_first_blocks(c, a->chunk);
	}
	blockmap_add(&want, &more);
	return want;
}

/* Add the runs of these blocks to the message, as many as there is room for. */
static void
add_runs(struct wirext_msg *m, uint32_t chunk, const struct blockmap *want)
{
	uint32_t b = 0, n;

	for (; m->u.urgent.n < WIREXT_URGENT_RUNS; b += n) {
		if ((n = blockmap_next_run(want, &b)) == 0)
			return;
		m->u.urgent.at[m->u.urgent.n++] =
		    (struct wirext_run){ chunk, (uint16_t)b, (uint16_t)n };
	}
}

static void
note_asked(struct client_awaited *a, uint64_t now_us)
{
	a->next_us = now_us + (AGAIN_US << (a->tries < AGAIN_DOUBLED ? a->tries : AGAIN_DOUBLED));
	a->asked_us = now_us;
	a->comes = false;
	a->tries++;
}

/* An URGENT for the chunks and blocks whose time has come. */
static size_t
say_urgent(struct client *c, uint64_t now_us, void *pkt)
{
	struct wirext_msg m;
	uint32_t blocks = 0;

	client_ext_message(c, &m, WIREXT_URGENT);
	m.u.urgent.clientid = c->cfg.clientid;
	m.u.urgent.n = 0;
	for (uint32_t i = 0; i < c->urgent.n && m.u.urgent.n < WIREXT_URGENT_RUNS; i++) {
		struct client_awaited *a = &c->urgent.at[i];
		if (now_us < a->next_us)
			continue;
		struct blockmap want = wanted(c, a);
		uint32_t n = blockmap_count(&want);
		if (blocks > 0 && blocks + n > BLOCKS_MOST)
			break;
		blocks += n;
		note_asked(a, now_us);
		add_runs(&m, a->chunk, &want);
	}
	if (m.u.urgent.n == 0)
		return 0;
	client_counters_message(&c->counters);
	return wirext_put(&m, pkt, WIRE_PACKET_MAX);
}

size_t
client_urgent_say(struct client *c, uint64_t now_us, void *pkt)
{
	client_urgent_forget_done(&c->urgent, &c->chunks);
	return server_knows(c) ? say_urgent(c, now_us, pkt) : say_request(c, now_us, pkt);
}

uint64_t
client_urgent_at_us(const struct client *c, uint64_t now_us)
{
	uint64_t at = client_bufs_settled_before(&c->bufs, now_us, CLIENT_NEVER);

	for (uint32_t i = 0; i < c->urgent.n && server_knows(c); i++)
		if (c->urgent.at[i].next_us < at)
			at = c->urgent.at[i].next_us;
	return at;
}
