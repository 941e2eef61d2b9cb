/* node.c: what a node does with messages and time (node.h).  Called by the thread of
 * dolly/net, and by the simulator. */
#include "dolly/engine/node.h"

#include <stdio.h>

#include "dolly/engine/dials.h"

enum {
	WINDOW = 8, /* chunks asked for ahead by a target that needs them in order */
	DAMAGED_MAX = 5, /* damaged chunks of the server itself; with one more the node fails */
	LEAVES = 64,     /* children that nobody waits for, and of which the node is told */
	LATE_ASKS = 128, /* chunks asked for at a time that a child did not take before */
};

struct node {
	struct node_config cfg;
	struct peer *server, *parent;
	uint32_t id;
	uint8_t key[MSG_KEY_BYTES];
	uint64_t deadline_us, slow, now_us;
	uint16_t version;       /* of the protocol, as the server has chosen it */
	struct node_image image;
	struct node_target target;
	struct spread *spread;  /* NULL: the server has not sent WELCOME yet */
	struct chunkmap lacks;  /* chunks that were not put yet */
	struct chunkmap ask;    /* chunks to ask the parent for */
	struct chunkmap asked;  /* chunks that the parent was asked for, and has not sent */
	struct chunkmap again;  /* chunks to ask for again at the next tick */
	uint32_t arriving;      /* slot of the chunk that is arriving, or SPREAD_NONE */
	uint32_t ignored;       /* chunk that arrives, but is in memory; or SPREAD_NONE */
	uint32_t next;          /* in_order: the chunk to put next */
	uint32_t early[WINDOW]; /* in_order: slots of chunks from `next` on, at chunk % WINDOW */
	uint32_t putting, have; /* chunks given to the target; installed */
	uint32_t damaged_by_server; /* chunks */
	uint32_t *from;         /* by slot: the parent from which its chunk came */
	struct msg_link up;     /* what was measured of the connection to the parent; without
	                         * waited_ms, which is made from this: */
	uint64_t up_waited_us;
	bool hungry; /* since the last tick the parent could have sent something */
	uint32_t leaves[LEAVES]; /* ids; 0: none */
	unsigned next_leaf;
	bool finishing, whole, ended;
	uint64_t away_us;   /* when the server went away; 0: it is there */
	uint64_t redial_us, redial_wait_us; /* when the server is dialled again, and how long after
	                                       the time before */
	struct dials dials;
	char unanswered[MSG_TEXT_MAX + 1]; /* why the server was not reached */
	struct msg to_dial; /* PARENT, of a parent that is to be dialled at its time; type 0: none */
	struct err failure; /* kind ERR_NONE: the node has not failed */
	struct node_stats stats;
};

static bool offer(struct node *, uint32_t chunk);

static void
hang_up(struct node *n, struct peer *p)
{
	if (p == NULL)
		return;
	if (p->child != NULL)
		spread_leave(n->spread, p->child);
	p->child = NULL;
	p->open = false;
	n->cfg.ops->close(n->cfg.arg, p);
	if (n->server == p)
		n->server = NULL;
	if (n->parent == p)
		n->parent = NULL;
	peer_free(p);
}

static void
fail(struct node *n, const struct err *e)
{
	struct msg m = { .type = MSG_FAILED };

	if (n->failure.kind != ERR_NONE || n->ended)
		return;
	n->failure = *e;
	if (n->server == NULL)
		return;
	snprintf(m.text, sizeof m.text, "%.*s", MSG_TEXT_MAX, e->text);
	peer_say(n->server, &m);
}

static int
dial_server(struct node *n, struct err *e)
{
	struct msg m = { .type = MSG_JOIN,
		.version_lo = MSG_VERSION_OLDEST,
		.version_hi = MSG_VERSION,
		.port = n->cfg.port };

	n->server = peer_new(PEER_SERVER, m.address);
	if (n->server == NULL)
		return err_nomem(e, "a connection");
	snprintf(m.text, sizeof m.text, "%s", n->cfg.name);
	peer_say(n->server, &m);
	return n->cfg.ops->dial(n->cfg.arg, n->server, m.address, 0, e);
}

int
node_new(
    struct node **out, const struct node_config *cfg, uint64_t now_us, struct err *e)
{
	struct node *n = calloc(1, sizeof *n);

	if (n == NULL)
		return err_nomem(e, "a node");
	n->cfg = *cfg;
	n->now_us = now_us;
	n->arriving = n->ignored = SPREAD_NONE;
	if (dial_server(n, e) != 0) {
		node_free(n);
		return -1;
	}
	*out = n;
	return 0;
}

void
node_free(struct node *n)
{
	if (n == NULL)
		return;
	struct spread_child *c = n->spread != NULL ? spread_children(n->spread) : NULL;
	for (; c != NULL; c = c->next)
		peer_free(c->owner);
	peer_free(n->server);
	peer_free(n->parent);
	spread_free(n->spread);
	chunkmap_free(&n->lacks);
	chunkmap_free(&n->ask);
	chunkmap_free(&n->asked);
	chunkmap_free(&n->again);
	free(n->from);
	free(n);
}

struct peer *
node_accept(struct node *n, const uint8_t address[4])
{
	(void)n;
	return peer_new(PEER_NEW, address);
}

/* --- asking --- */

/* Notes that the parent is to be asked for a chunk, unless the chunk is in memory or was
 * asked for. */
static void
ask_for(void *arg, uint32_t chunk)
{
	struct node *n = arg;

	if (!chunkmap_has(&n->asked, chunk) &&
	    spread_find(n->spread, chunk) == SPREAD_NONE)
		chunkmap_add(&n->ask, chunk);
}

/* Asks the parent for all chunks of `ask`, in as few messages as possible. */
static void
flush_asks(struct node *n)
{
	struct msg m = { .type = MSG_WANT };
	uint32_t c = 0;

	if (n->parent == NULL)
		return;
	while ((c = chunkmap_next(&n->ask, c)) != CHUNKMAP_NONE) {
		struct msg_range *g = &m.ranges[m.nranges++];
		for (*g = (struct msg_range){ c, 0 }; chunkmap_take(&n->ask, c); c++) {
			chunkmap_add(&n->asked, c);
			g->count++;
		}
		if (m.nranges < MSG_RANGES_MAX)
			continue;
		peer_say(n->parent, &m);
		m.nranges = 0;
	}
	if (m.nranges > 0)
		peer_say(n->parent, &m);
}

static bool
waits_for_0(const struct node *n)
{
	return n->target.chunk0_first && chunkmap_has(&n->lacks, 0);
}

/* Puts the chunks that the target can take now and that are in memory, and asks for the
 * others. */
static void
ask_own(struct node *n)
{
	uint32_t end = n->image.chunks;

	if (waits_for_0(n))
		end = 1;
	else if (n->target.in_order && end - n->next > WINDOW)
		end = n->next + WINDOW;
	for (uint32_t c = chunkmap_next(&n->lacks, 0); c < end;
	     c = chunkmap_next(&n->lacks, c + 1)) {
		uint32_t slot = spread_find(n->spread, c);
		if (slot == SPREAD_NONE)
			ask_for(n, c);
		else if (spread_is_whole(n->spread, slot))
			(void)offer(n, c);
	}
}

/* --- putting --- */

static void
check_whole(struct node *n)
{
	if (n->lacks.count > 0 || n->putting > 0 || n->finishing ||
	    n->failure.kind != ERR_NONE)
		return;
	n->finishing = true;
	n->cfg.ops->finish(n->cfg.arg);
}

static void
put(struct node *n, uint32_t slot, uint32_t chunk)
{
	chunkmap_take(&n->lacks, chunk);
	spread_hold(n->spread, slot);
	n->putting++;
	n->cfg.ops->put(n->cfg.arg, slot, chunk, spread_bytes(n->spread, slot),
	    spread_length(n->spread, slot));
}

/* Keeps a chunk until it is its turn, and puts all chunks whose turn has come. */
static bool
put_in_order(struct node *n, uint32_t slot, uint32_t chunk)
{
	if (chunk - n->next >= WINDOW)
		return false;
	uint32_t *place = &n->early[chunk % WINDOW];
	if (*place == SPREAD_NONE) {
		*place = slot;
		spread_hold(n->spread, slot);
	}
	while ((slot = n->early[n->next % WINDOW]) != SPREAD_NONE) {
		n->early[n->next % WINDOW] = SPREAD_NONE;
		put(n, slot, n->next++);
		spread_let_go(n->spread, slot);
	}
	return true;
}

/* Puts a complete chunk into the target, if the target lacks it and can take it now.
 * False: it does not, so nobody has proved the chunk. */
static bool
offer(struct node *n, uint32_t chunk)
{
	uint32_t slot = spread_find(n->spread, chunk);

	if (!chunkmap_has(&n->lacks, chunk) || n->failure.kind != ERR_NONE ||
	    (waits_for_0(n) && chunk != 0))
		return false;
	if (n->target.in_order)
		return put_in_order(n, slot, chunk);
	put(n, slot, chunk);
	return true;
}

static void
note_damage(struct node *n, uint32_t from)
{
	if (n->parent != NULL && from == n->up.id)
		n->up.damaged++;
	n->stats.damaged++;
}

/* The server gives the node another parent when chunks of this one are damaged, and cuts
 * out a node to which they come damaged from everywhere.  What the server itself sends,
 * the node judges. */
static bool
is_too_much(struct node *n, uint32_t from)
{
	note_damage(n, from);
	if (from == 0 || n->version < MSG_VERSION_REPORTS)
		n->damaged_by_server++;
	return n->damaged_by_server > DAMAGED_MAX || n->target.in_order;
}

static void
put_again(struct node *n, uint32_t slot, uint32_t chunk, const struct err *why)
{
	if (is_too_much(n, n->from[slot])) {
		fail(n, why);
		return;
	}
	spread_forget(n->spread, slot);
	chunkmap_add(&n->lacks, chunk);
	chunkmap_add(&n->again, chunk);
}

/* A chunk came for children alone, since the target has it, or cannot take it yet.  It is
 * proved all the same, or the children would say that this node has damaged it. */
static void
prove(struct node *n, uint32_t slot, uint32_t chunk)
{
	if (n->cfg.ops->proves(n->cfg.arg, chunk, spread_bytes(n->spread, slot),
		spread_length(n->spread, slot)))
		return;
	note_damage(n, n->from[slot]);
	spread_forget(n->spread, slot);
	chunkmap_add(&n->again, chunk);
}

static void
chunk_is_here(struct node *n, uint32_t slot, uint32_t chunk)
{
	bool more = n->target.in_order || waits_for_0(n);

	chunkmap_take(&n->asked, chunk);
	if (!offer(n, chunk))
		prove(n, slot, chunk);
	if (more)
		ask_own(n);
}

void
node_put(struct node *n, uint32_t slot, enum node_put_rc rc, const struct err *why)
{
	n->putting--;
	if (rc == NODE_PUT_DONE)
		n->have++;
	else if (rc == NODE_PUT_FAILED)
		fail(n, why);
	else
		put_again(n, slot, spread_chunk(n->spread, slot), why);
	spread_let_go(n->spread, slot);
	check_whole(n);
}

void
node_needs(struct node *n, uint32_t chunk)
{
	if (chunk >= n->image.chunks || chunkmap_has(&n->lacks, chunk))
		return;
	chunkmap_add(&n->lacks, chunk);
	n->have -= n->have > 0;
	ask_own(n);
	flush_asks(n);
}

void
node_finished(struct node *n, const struct err *e)
{
	if (e != NULL) {
		fail(n, e);
		return;
	}
	n->whole = true;
	if (n->server != NULL)
		peer_say(n->server, &(struct msg){ .type = MSG_WHOLE });
}

/* --- the parent --- */

static void
forget_arrival(struct node *n)
{
	n->ignored = SPREAD_NONE;
	if (n->arriving == SPREAD_NONE)
		return;
	spread_forget(n->spread, n->arriving);
	n->arriving = SPREAD_NONE;
	spread_each_wanted(n->spread, ask_for, n);
}

/* The parent is gone: the chunks that it was asked for have to be asked for again. */
static void
orphan(struct node *n)
{
	uint32_t c = 0;

	forget_arrival(n);
	while ((c = chunkmap_next(&n->asked, c)) != CHUNKMAP_NONE) {
		chunkmap_take(&n->asked, c);
		chunkmap_add(&n->ask, c);
	}
	spread_each_wanted(n->spread, ask_for, n);
	ask_own(n);
}

static void
parent_lost(struct node *n, const char *why)
{
	struct msg m = { .type = MSG_LOST, .id = n->parent->id };

	snprintf(m.text, sizeof m.text, "%.*s", MSG_TEXT_MAX, why);
	hang_up(n, n->parent);
	orphan(n);
	if (n->server != NULL)
		peer_say(n->server, &m);
}

/* Dials the parent that the server has named, when it is time to. */
static int
dial_parent(struct node *n, struct err *e)
{
	struct msg hello = { .type = MSG_HELLO, .id = n->id };
	const struct msg *m = &n->to_dial;
	struct err why;

	if (m->type != MSG_PARENT ||
	    dials_when(&n->dials, m->address, m->port, n->now_us) > n->now_us)
		return 0;
	n->to_dial.type = 0;
	dials_made(&n->dials, m->address, m->port, n->now_us);
	n->parent = peer_new(PEER_PARENT, m->address);
	if (n->parent == NULL)
		return err_nomem(e, "a connection");
	n->stats.parents++;
	n->parent->id = m->id;
	n->up = (struct msg_link){ .id = m->id, .up = true };
	n->up_waited_us = 0;
	n->hungry = false;
	memcpy(hello.key, m->key, sizeof hello.key);
	peer_say(n->parent, &hello);
	flush_asks(n);
	if (n->cfg.ops->dial(n->cfg.arg, n->parent, m->address, m->port, &why) != 0)
		parent_lost(n, why.text);
	return 0;
}

static int
on_parent(struct node *n, const struct msg *m, struct err *e)
{
	if (n->spread == NULL)
		return 0;
	if (m->id == n->id)
		return err_set(
		    e, ERR_FORMAT, "the server says that this node is its own parent");
	hang_up(n, n->parent);
	orphan(n);
	n->to_dial = *m;
	return dial_parent(n, e);
}

/* The first piece of a chunk has come.  -1: there is no slot for the chunk, the image has
 * no such chunk, or its length is impossible. */
static int
begin_chunk(struct node *n, uint32_t chunk, uint32_t length, struct err *e)
{
	forget_arrival(n);
	if (chunk >= n->image.chunks)
		return err_set(e, ERR_FORMAT,
		    "chunk %u was sent, but the image has only %u chunks", chunk,
		    n->image.chunks);
	if (length == 0 || length > n->cfg.spread.chunk_bytes)
		return err_set(e, ERR_FORMAT,
		    "chunk %u: %u bytes are too many for a chunk", chunk, length);
	if (spread_find(n->spread, chunk) != SPREAD_NONE) {
		chunkmap_take(&n->asked, chunk);
		n->ignored = chunk;
		return 0;
	}
	if (!spread_room(n->spread))
		return err_set(e, ERR_FORMAT,
		    "chunk %u was sent, but there is no buffer for it", chunk);
	n->arriving = spread_begin(n->spread, chunk, length);
	return 0;
}

static int
on_data(struct node *n, const struct msg *m, struct err *e)
{
	if (m->offset == 0 && begin_chunk(n, m->chunk, m->length, e) != 0)
		return -1;
	if (n->ignored == m->chunk) {
		n->up.bytes += m->piece_bytes;
		return 0;
	}
	uint32_t slot = n->arriving;
	if (slot == SPREAD_NONE || spread_chunk(n->spread, slot) != m->chunk ||
	    m->offset != spread_have(n->spread, slot) ||
	    m->length != spread_length(n->spread, slot) ||
	    m->piece_bytes > m->length - m->offset)
		return err_set(e, ERR_FORMAT,
		    "chunk %u: the part at byte %u is outside the chunk", m->chunk,
		    m->offset);
	memcpy(spread_bytes(n->spread, slot) + m->offset, m->piece, m->piece_bytes);
	n->stats.received += m->piece_bytes;
	n->up.bytes += m->piece_bytes;
	n->from[slot] = n->parent->id;
	if (spread_arrived(n->spread, slot, m->piece_bytes)) {
		n->arriving = SPREAD_NONE;
		dials_good(&n->dials, n->to_dial.address, n->to_dial.port);
		chunk_is_here(n, slot, m->chunk);
	}
	return 0;
}

/* --- messages of others --- */

static int
welcome_maps(struct node *n, const struct msg *m, struct err *e)
{
	struct spread_config s = n->cfg.spread;

	s.chunks = m->chunks;
	if (spread_new(&n->spread, &s, e) != 0)
		return -1;
	n->from = calloc(s.slots, sizeof *n->from);
	if (n->from == NULL || !chunkmap_make(&n->lacks, m->chunks) ||
	    !chunkmap_make(&n->ask, m->chunks) ||
	    !chunkmap_make(&n->asked, m->chunks) ||
	    !chunkmap_make(&n->again, m->chunks))
		return err_nomem(e, "the list of chunks");
	return 0;
}

/* A server that was away has welcomed the node again, or another server in its place.  It
 * gives out new ids and keys, so the children and the parent, which have the old ones, are
 * disconnected. */
static int
welcome_again(struct node *n, const struct msg *m, struct err *e)
{
	struct spread_child *c;

	if (m->chunks != n->image.chunks || m->bytes != n->image.bytes ||
	    m->content != n->image.content ||
	    memcmp(m->identity, n->image.identity, sizeof m->identity) != 0)
		return err_set(
		    e, ERR_REFUSED, "the server that came back serves another image");
	while ((c = spread_children(n->spread)) != NULL)
		hang_up(n, c->owner);
	hang_up(n, n->parent);
	n->to_dial.type = 0;
	orphan(n);
	if (n->whole)
		peer_say(n->server, &(struct msg){ .type = MSG_WHOLE });
	return 0;
}

static int
on_welcome(struct node *n, const struct msg *m, struct err *e)
{
	bool again = n->spread != NULL;

	if ((again && n->away_us == 0) || m->version_lo < MSG_VERSION_OLDEST ||
	    m->version_lo > MSG_VERSION)
		return err_set(e, ERR_FORMAT,
		    "the server speaks version %u of the protocol, "
		    "and not %d or %d",
		    m->version_lo, MSG_VERSION_OLDEST, MSG_VERSION);
	n->version = m->version_lo;
	n->redial_wait_us = 0;
	n->id = m->id;
	memcpy(n->key, m->key, sizeof n->key);
	n->deadline_us = (uint64_t)m->deadline_ms * 1000;
	n->slow = m->slow;
	n->away_us = 0;
	if (again)
		return welcome_again(n, m, e);
	n->image = (struct node_image){ .chunks = m->chunks,
		.bytes = m->bytes,
		.content = m->content,
		.deadline_us = n->deadline_us };
	memcpy(n->image.identity, m->identity, sizeof n->image.identity);
	if (welcome_maps(n, m, e) != 0 ||
	    n->cfg.ops->begin(n->cfg.arg, &n->image, &n->target, e) != 0)
		return -1;
	memset(n->early, 0xff, sizeof n->early); /* SPREAD_NONE */
	for (uint32_t c = 0; c < m->chunks; c++)
		if (!n->cfg.ops->has(n->cfg.arg, c))
			chunkmap_add(&n->lacks, c);
	n->have = m->chunks - n->lacks.count;
	ask_own(n);
	check_whole(n);
	return 0;
}

static void
drop_child(struct node *n, uint32_t id)
{
	struct spread_child *c = n->spread != NULL ? spread_find_child(n->spread, id)
	                                           : NULL;

	if (c != NULL)
		hang_up(n, c->owner);
}

/* Is this child one for which nobody waits?  With `forget` it is not any more. */
static bool
is_leaf(struct node *n, uint32_t id, bool forget)
{
	for (unsigned i = 0; i < LEAVES; i++)
		if (n->leaves[i] == id) {
			n->leaves[i] = forget ? 0 : id;
			return true;
		}
	return false;
}

static void
on_leaf(struct node *n, uint32_t id)
{
	struct spread_child *c = n->spread != NULL ? spread_find_child(n->spread, id)
	                                           : NULL;

	if (c != NULL)
		spread_set_leaf(c);
	if (id != 0 && !is_leaf(n, id, false))
		n->leaves[n->next_leaf++ % LEAVES] = id;
}

/* Handles a message of the server. */
static int
on_server(struct node *n, const struct msg *m, struct err *e)
{
	switch (m->type) {
	case MSG_WELCOME:
		return on_welcome(n, m, e);
	case MSG_PARENT:
		return on_parent(n, m, e);
	case MSG_REFUSE:
		return err_set(e, ERR_REFUSED, "the server says: %s", m->text);
	case MSG_DROP:
		(void)is_leaf(n, m->id, true);
		drop_child(n, m->id);
		return 0;
	case MSG_LEAF:
		on_leaf(n, m->id);
		return 0;
	case MSG_END:
		n->ended = n->whole;
		return n->whole ? 0 : err_set(e, ERR_REFUSED, "the server has ended");
	default:
		return err_set(
		    e, ERR_FORMAT, "the server sent a message that is not for nodes");
	}
}

/* Somebody takes this node for a server, perhaps a node that this one takes for its
 * server. */
static int
refuse_join(struct peer *p, struct err *e)
{
	struct msg refuse = { .type = MSG_REFUSE };

	snprintf(refuse.text, sizeof refuse.text,
	    "this is a node, and no server: join the server that it has joined");
	peer_say(p, &refuse);
	return err_set(e, ERR_REFUSED, "a node that has joined a node");
}

/* A new connection must present the key.  When a child connects again, its old connection
 * is closed. */
static int
on_hello(struct node *n, struct peer *p, const struct msg *m, struct err *e)
{
	if (m->type == MSG_JOIN)
		return refuse_join(p, e);
	if (m->type != MSG_HELLO || n->spread == NULL ||
	    memcmp(m->key, n->key, MSG_KEY_BYTES) != 0)
		return err_set(e, ERR_REFUSED, "a stranger");
	drop_child(n, m->id);
	p->child = spread_join(n->spread, m->id, p);
	if (p->child == NULL)
		return err_nomem(e, "a child");
	if (m->id != 0 && is_leaf(n, m->id, false))
		spread_set_leaf(p->child);
	p->kind = PEER_CHILD;
	p->id = m->id;
	return 0;
}

static int
on_want(struct node *n, struct peer *p, const struct msg *m, struct err *e)
{
	if (m->type != MSG_WANT)
		return err_set(
		    e, ERR_FORMAT, "a child sent a message that is not for parents");
	for (unsigned i = 0; i < m->nranges; i++) {
		const struct msg_range *g = &m->ranges[i];
		for (uint32_t c = g->first; c < g->first + g->count; c++) {
			if (c >= n->image.chunks)
				return err_set(e, ERR_FORMAT,
				    "a child wants chunk %u, which does not exist", c);
			/* What a leaf wants is asked for when nobody else wants anything. */
			if (!spread_want(n->spread, p->child, c) && !p->child->leaf)
				ask_for(n, c);
		}
	}
	return 0;
}

static int
on_message(struct node *n, struct peer *p, const struct msg *m, struct err *e)
{
	switch (p->kind) {
	case PEER_SERVER:
		return on_server(n, m, e);
	case PEER_PARENT:
		if (m->type != MSG_DATA)
			return err_set(
			    e, ERR_FORMAT, "a parent sent a message that is not data");
		return on_data(n, m, e);
	case PEER_CHILD:
		return on_want(n, p, m, e);
	default:
		return on_hello(n, p, m, e);
	}
}

/* Without a free slot the parent's messages have to wait. */
static bool
must_wait(const struct node *n, const struct peer *p)
{
	return p->kind == PEER_PARENT && n->arriving == SPREAD_NONE &&
	       !spread_make_room(n->spread);
}

/* Could the parent send something now? */
static bool
could_take(const struct node *n)
{
	return n->parent != NULL && n->asked.count > 0 && !must_wait(n, n->parent);
}

static void
end_peer(struct node *n, struct peer *p, const struct err *e)
{
	if (p == n->parent) {
		parent_lost(n, e->text);
		return;
	}
	if (p == n->server)
		fail(n, e);
	hang_up(n, p);
}

static void
take_messages(struct node *n, struct peer *p)
{
	struct msg m;
	struct err e;
	int rc = 0;

	while (!must_wait(n, p) && (rc = peer_next(p, &m, &e)) == 1) {
		rc = on_message(n, p, &m, &e);
		if (rc != 0)
			break;
	}
	if (rc < 0)
		end_peer(n, p, &e);
	flush_asks(n);
	n->hungry = n->hungry && could_take(n);
}

void
node_bytes(struct node *n, struct peer *p, const void *bytes, size_t len)
{
	struct err e;

	if (peer_put(p, bytes, len, &e) != 0)
		end_peer(n, p, &e);
	else
		take_messages(n, p);
}

void
node_resume(struct node *n)
{
	if (n->parent != NULL && !must_wait(n, n->parent))
		take_messages(n, n->parent);
}

bool
node_reads(const struct node *n, const struct peer *p)
{
	(void)n;
	return !peer_full(p);
}

/* Is it worth waiting for the server, which was there once, or does not listen yet? */
static bool
may_come_back(const struct node *n, const struct peer *p)
{
	return n->cfg.patience_us > 0 && (n->spread != NULL || !p->reached) && !n->ended &&
	       n->failure.kind == ERR_NONE;
}

void
node_closed(struct node *n, struct peer *p, const char *why)
{
	struct err e;

	(void)err_set(&e, ERR_IO, "%s%s", p == n->server ? "the server: " : "", why);
	if (p == n->server && may_come_back(n, p)) {
		snprintf(n->unanswered, sizeof n->unanswered, "%s", why);
		if (n->away_us == 0)
			n->away_us = n->redial_us = n->now_us | 1; /* 0 has a meaning */
		hang_up(n, p);
		return;
	}
	if (p == n->server && n->whole) {
		n->ended = true;
		hang_up(n, p);
		return;
	}
	end_peer(n, p, &e);
	if (n->spread != NULL)
		flush_asks(n);
}

size_t
node_output(struct node *n, struct peer *p, const void **at)
{
	return peer_output(p, n->spread, at);
}

void
node_sent(struct node *n, struct peer *p, size_t bytes)
{
	if (p->child != NULL && spread_in_frame(p->child))
		n->stats.forwarded += bytes;
	peer_sent(p, n->spread, bytes);
}

/* While the server is away: ends or fails after patience_us, and dials the server from
 * time to time before. */
static void
seek_server(struct node *n)
{
	struct err e;

	if (n->now_us - n->away_us > n->cfg.patience_us) {
		n->stats.alone = true;
		unsigned patience_s = (unsigned)(n->cfg.patience_us / 1000000);
		if (n->spread != NULL)
			(void)err_set(&e, ERR_IO,
			    "the server went away, and did not come back for %u seconds",
			    patience_s);
		else
			(void)err_set(&e, ERR_IO, "the server: %s, for %u seconds",
			    n->unanswered, patience_s);
		if (n->whole)
			n->ended = true;
		else
			fail(n, &e);
	} else if (n->server == NULL && n->now_us >= n->redial_us) {
		n->redial_wait_us = dials_longer(n->redial_wait_us);
		n->redial_us = n->now_us + n->redial_wait_us;
		if (dial_server(n, &e) != 0 && n->server != NULL)
			hang_up(n, n->server);
	}
}

static void
add_link(struct node *n, struct msg *m, const struct msg_link *l)
{
	if (m->nlinks == MSG_LINKS_MAX) {
		peer_say(n->server, m);
		m->nlinks = 0;
	}
	m->links[m->nlinks++] = *l;
}

/* Tells the server what was measured of all links. */
static void
report_links(struct node *n)
{
	struct msg m = { .type = MSG_REPORT };

	n->up.waited_ms = (uint32_t)(n->up_waited_us / 1000);
	n->up.wanted = n->asked.count + n->ask.count;
	if (n->parent != NULL)
		add_link(n, &m, &n->up);
	for (const struct spread_child *c = spread_children(n->spread); c != NULL;
	     c = c->next)
		add_link(n, &m,
		    &(struct msg_link){ .id = c->id,
			.bytes = c->bytes,
			.waited_ms = (uint32_t)(c->waited_us / 1000),
			.wanted = spread_wanted(c) });
	if (m.nlinks > 0)
		peer_say(n->server, &m);
}

/* Asks for chunks that gave way while a child did not take them, as soon as it takes
 * more; and, when nobody else wants anything, for what a leaf wants. */
static void
ask_for_late(struct node *n)
{
	bool idle = n->lacks.count == 0 && n->asked.count == 0;

	for (struct spread_child *c = spread_children(n->spread); c != NULL; c = c->next) {
		unsigned asked = 0;
		if (c->leaf ? !idle : c->late)
			continue;
		for (uint32_t k = chunkmap_next(&c->wants, 0);
		     k != CHUNKMAP_NONE && asked < LATE_ASKS;
		     k = chunkmap_next(&c->wants, k + 1))
			if (!chunkmap_has(&n->asked, k)) {
				ask_for(n, k);
				asked++;
			}
	}
}

static void
measure(struct node *n, uint64_t now_us)
{
	bool could = n->spread != NULL && could_take(n);

	if (n->hungry && could)
		n->up_waited_us += now_us - n->now_us;
	n->hungry = could;
	n->now_us = now_us;
}

void
node_tick(struct node *n, uint64_t now_us)
{
	struct msg m = { .type = MSG_PROGRESS, .have = n->have };
	struct err e;
	uint32_t c = 0;

	measure(n, now_us);
	if (n->away_us != 0)
		seek_server(n);
	if (n->spread == NULL || n->server == NULL || n->away_us != 0)
		return;
	if (dial_parent(n, &e) != 0)
		fail(n, &e);
	if (n->again.count > 0)
		spread_each_wanted(n->spread, ask_for, n);
	while ((c = chunkmap_next(&n->again, c)) != CHUNKMAP_NONE) {
		chunkmap_take(&n->again, c);
		if (chunkmap_has(&n->lacks, c))
			ask_for(n, c);
	}
	ask_for_late(n);
	flush_asks(n);
	m.stuck = spread_stuck(n->spread, now_us, n->deadline_us, n->slow, &m.waits);
	if (n->server->out.len >= MSG_CONTROL_MAX)
		return;
	peer_say(n->server, &m);
	if (n->version >= MSG_VERSION_REPORTS)
		report_links(n);
}

int
node_over(const struct node *n, struct err *e)
{
	if (n->failure.kind != ERR_NONE) {
		*e = n->failure;
		return -1;
	}
	return n->ended ? 1 : 0;
}

void
node_stats(const struct node *n, struct node_stats *s)
{
	*s = n->stats;
	s->chunks = n->image.chunks;
	s->have = n->have;
	s->whole = n->whole;
	s->away = n->away_us != 0;
	s->met = n->spread != NULL;
}
