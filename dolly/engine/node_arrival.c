/* node_arrival.c: the chunk that arrives from a node's parent, piece by piece (node_impl.h).
 * Called by the other parts of the node, in the engine's thread. */
#include "dolly/engine/node_impl.h"

bool
node_make_arrival(struct node *n, uint32_t slots)
{
	struct node_arrival *a = &n->arrival;

	a->slot = a->ignored = SPREAD_NONE;
	a->from = calloc(slots, sizeof *a->from);
	return a->from != NULL;
}

void
node_forget_arrival(struct node *n)
{
	struct node_arrival *a = &n->arrival;
	uint32_t slot = a->slot;

	a->ignored = a->slot = SPREAD_NONE;
	if (slot == SPREAD_NONE)
		return;
	spread_forget(n->spread, slot);
	spread_each_wanted(n->spread, node_ask_for, n);
}

/* The first piece of a chunk has come.  -1: there is no slot for the chunk, the image has
 * no such chunk, or its length is impossible. */
static int
begin_chunk(struct node *n, uint32_t chunk, uint32_t length, struct err *e)
{
	struct node_arrival *a = &n->arrival;

	node_forget_arrival(n);
	if (chunk >= n->server.image.chunks)
		return err_set(e, ERR_FORMAT,
		    "chunk %u was sent, but the image has only %u chunks", chunk,
		    n->server.image.chunks);
	if (length == 0 || length > n->cfg.spread.chunk_bytes)
		return err_set(e, ERR_FORMAT,
		    "chunk %u: %u bytes are too many for a chunk", chunk, length);
	if (spread_find(n->spread, chunk) != SPREAD_NONE) {
		node_has_come(n, chunk);
		a->ignored = chunk;
		return 0;
	}
	if (!spread_room(n->spread))
		return err_set(e, ERR_FORMAT,
		    "chunk %u was sent, but there is no buffer for it", chunk);
	a->slot = spread_begin(n->spread, chunk, length);
	return 0;
}

int
node_hear_data(struct node *n, const struct msg *m, struct err *e)
{
	struct node_arrival *a = &n->arrival;

	if (m->offset == 0 && begin_chunk(n, m->chunk, m->length, e) != 0)
		return -1;
	if (a->ignored == m->chunk)
		return 0;
	uint32_t slot = a->slot;
	if (slot == SPREAD_NONE || spread_chunk(n->spread, slot) != m->chunk ||
	    m->offset != spread_have(n->spread, slot) ||
	    m->length != spread_length(n->spread, slot) ||
	    m->piece_bytes > m->length - m->offset)
		return err_set(e, ERR_FORMAT,
		    "chunk %u: the part at byte %u is outside the chunk", m->chunk,
		    m->offset);
	a->from[slot] = n->parent.peer->id;
	return 0;
}

uint8_t *
node_place(const struct node *n)
{
	uint32_t slot = n->arrival.slot;

	return slot == SPREAD_NONE
	           ? NULL
	           : spread_bytes(n->spread, slot) + spread_have(n->spread, slot);
}

void
node_hear_piece(struct node *n, const void *bytes, uint32_t len)
{
	struct node_arrival *a = &n->arrival;
	uint8_t *place = node_place(n);
	uint32_t slot = a->slot;

	node_parent_sent(n, len);
	if (place == NULL) /* the chunk is ignored */
		return;
	if (bytes != place)
		memcpy(place, bytes, len);
	a->bytes += len;
	if (spread_arrived(n->spread, slot, len)) {
		a->slot = SPREAD_NONE;
		node_parent_is_good(n);
		node_chunk_is_here(n, slot, spread_chunk(n->spread, slot));
	}
}
