/* node_putting.c: chunks that a node's target takes, and proves (node_impl.h).  Called by the
 * other parts of the node, and by the owner of the engine through node.h, in its thread. */
#include "dolly/engine/node_impl.h"

enum { DAMAGED_MAX = 5 }; /* damaged chunks of the server itself; with one more the node fails */

static bool offer(struct node *, uint32_t chunk);

int
node_open_target(struct node *n, const struct node_image *image, struct err *e)
{
	struct node_putting *t = &n->putting;

	t->chunks = calloc(n->cfg.spread.slots, sizeof *t->chunks);
	if (t->chunks == NULL || !chunkmap_make(&t->lacks, image->chunks))
		return err_nomem(e, "the list of chunks");
	for (uint32_t c = 0; c < image->chunks; c++)
		chunkmap_add(&t->lacks, c);
	memset(t->early, 0xff, sizeof t->early); /* SPREAD_NONE */
	t->opening = true;
	node_wish(n, &(struct wish){ .kind = WISH_OPEN, .image = image });
	return 0;
}

void
node_has(struct node *n, uint32_t chunk)
{
	struct node_putting *t = &n->putting;

	chunkmap_take(&t->lacks, chunk);
}

void
node_opened(struct node *n, const struct node_target *target)
{
	struct node_putting *t = &n->putting;

	t->target = *target;
	t->opening = false;
	t->have = n->server.image.chunks - t->lacks.count;
	node_ask_own(n);
	node_check_whole(n);
	node_take_messages(n, n->server.peer);
}

void
node_free_putting(struct node *n)
{
	chunkmap_free(&n->putting.lacks);
	free(n->putting.chunks);
}

static bool
waits_for_0(const struct node *n)
{
	return n->putting.target.chunk0_first && chunkmap_has(&n->putting.lacks, 0);
}

void
node_ask_own(struct node *n)
{
	const struct node_putting *t = &n->putting;
	uint32_t end = n->server.image.chunks;

	if (waits_for_0(n))
		end = 1;
	else if (t->target.in_order && end - t->next > NODE_WINDOW)
		end = t->next + NODE_WINDOW;
	for (uint32_t c = chunkmap_next(&t->lacks, 0); c < end;
	     c = chunkmap_next(&t->lacks, c + 1)) {
		uint32_t slot = spread_find(n->spread, c);
		if (slot == SPREAD_NONE)
			node_ask_for(n, c);
		else if (spread_is_whole(n->spread, slot))
			(void)offer(n, c);
	}
}

void
node_check_whole(struct node *n)
{
	struct node_putting *t = &n->putting;

	if (t->lacks.count > 0 || t->now > 0 || t->finishing || n->failure.kind != ERR_NONE)
		return;
	if (node_unsaid(n) > 0) {
		node_ask_for_digests(n);
		return;
	}
	t->finishing = true;
	node_wish(n, &(struct wish){ .kind = WISH_FINISH });
}

/* Wants something of the owner that is done with a chunk. */
static void
wish_for(struct node *n, enum wish_kind kind, uint32_t slot, uint32_t chunk)
{
	node_wish(n,
	    &(struct wish){ .kind = kind,
		.slot = slot,
		.chunk = chunk,
		.bytes = spread_bytes(n->spread, slot),
		.length = spread_length(n->spread, slot) });
}

static void
put(struct node *n, uint32_t slot, uint32_t chunk)
{
	struct node_putting *t = &n->putting;

	chunkmap_take(&t->lacks, chunk);
	spread_hold(n->spread, slot);
	t->chunks[slot] = chunk;
	t->now++;
	wish_for(n, WISH_PUT, slot, chunk);
}

/* Keeps a chunk until it is its turn, and puts all chunks whose turn has come. */
static bool
put_in_order(struct node *n, uint32_t slot, uint32_t chunk)
{
	struct node_putting *t = &n->putting;

	if (chunk - t->next >= NODE_WINDOW)
		return false;
	uint32_t *place = &t->early[chunk % NODE_WINDOW];
	if (*place == SPREAD_NONE) {
		*place = slot;
		spread_hold(n->spread, slot);
	}
	while ((slot = t->early[t->next % NODE_WINDOW]) != SPREAD_NONE) {
		t->early[t->next % NODE_WINDOW] = SPREAD_NONE;
		put(n, slot, t->next++);
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

	if (!chunkmap_has(&n->putting.lacks, chunk) || n->failure.kind != ERR_NONE ||
	    (waits_for_0(n) && chunk != 0))
		return false;
	if (n->putting.target.in_order)
		return put_in_order(n, slot, chunk);
	put(n, slot, chunk);
	return true;
}

static void
note_damage(struct node *n, uint32_t from)
{
	struct node_putting *t = &n->putting;

	node_parent_damaged(n, from);
	t->damaged++;
}

/* The server gives the node another parent when chunks of this one are damaged, and cuts
 * out a node to which they come damaged from everywhere.  What the server itself sends,
 * the node judges. */
static bool
is_too_much(struct node *n, uint32_t from)
{
	struct node_putting *t = &n->putting;

	note_damage(n, from);
	if (from == 0 || n->server.version < MSG_VERSION_REPORTS)
		t->damaged_by_server++;
	return t->damaged_by_server > DAMAGED_MAX || t->target.in_order;
}

static void
put_again(struct node *n, uint32_t chunk, uint32_t from, const struct err *why)
{
	uint32_t slot = spread_find(n->spread, chunk);

	if (is_too_much(n, from)) {
		node_fail(n, why);
		return;
	}
	if (slot != SPREAD_NONE && spread_is_whole(n->spread, slot))
		spread_forget(n->spread, slot);
	chunkmap_add(&n->putting.lacks, chunk);
	node_ask_later(n, chunk);
}

void
node_take_back(struct node *n, uint32_t chunk, uint32_t from)
{
	struct node_putting *t = &n->putting;
	struct err e;

	(void)err_set(&e, ERR_FORMAT, "chunk %u: its digest is not the one that the server says",
	    chunk);
	t->have--;
	put_again(n, chunk, from, &e);
}

/* A chunk came for children alone, since the target has it, or cannot take it yet.  It is
 * proved all the same, or the children would say that this node has damaged it. */
static void
prove(struct node *n, uint32_t slot, uint32_t chunk)
{
	struct node_putting *t = &n->putting;

	t->proving = true;
	spread_hold(n->spread, slot);
	wish_for(n, WISH_PROVE, slot, chunk);
}

void
node_proved(struct node *n, uint32_t slot, bool right, const uint8_t *digest)
{
	struct node_putting *t = &n->putting;
	uint32_t chunk = spread_chunk(n->spread, slot);

	t->proving = false;
	spread_let_go(n->spread, slot);
	if (!right || node_digest_differs(n, chunk, digest)) {
		note_damage(n, n->arrival.from[slot]);
		spread_forget(n->spread, slot);
		node_ask_later(n, chunk);
	}
	if (t->more)
		node_ask_own(n);
	node_take_messages(n, n->parent.peer);
}

void
node_chunk_is_here(struct node *n, uint32_t slot, uint32_t chunk)
{
	struct node_putting *t = &n->putting;

	t->more = t->target.in_order || waits_for_0(n);
	node_has_come(n, chunk);
	if (!offer(n, chunk))
		prove(n, slot, chunk);
	else if (t->more)
		node_ask_own(n);
}

static void
is_put(struct node *n, uint32_t slot)
{
	struct node_putting *t = &n->putting;

	t->now--;
	spread_let_go(n->spread, slot);
	node_check_whole(n);
}

void
node_put(struct node *n, uint32_t slot, const uint8_t *digest)
{
	struct node_putting *t = &n->putting;
	uint32_t chunk = t->chunks[slot], from = n->arrival.from[slot];

	t->have++;
	if (!node_note_digest(n, chunk, digest, from))
		node_take_back(n, chunk, from);
	is_put(n, slot);
}

void
node_put_damaged(struct node *n, uint32_t slot, const struct err *why)
{
	put_again(n, n->putting.chunks[slot], n->arrival.from[slot], why);
	is_put(n, slot);
}

void
node_needs(struct node *n, uint32_t chunk)
{
	struct node_putting *t = &n->putting;

	if (chunk >= n->server.image.chunks || chunkmap_has(&t->lacks, chunk))
		return;
	chunkmap_add(&t->lacks, chunk);
	t->have -= t->have > 0;
	node_ask_own(n);
	node_flush_asks(n);
}

void
node_finished(struct node *n, const struct err *e)
{
	struct node_putting *t = &n->putting;

	if (e != NULL) {
		node_fail(n, e);
		return;
	}
	t->whole = true;
	node_tell_server(n, &(struct msg){ .type = MSG_WHOLE });
}
