/* order_blocks.c: makes the list of blocks that a recorded order of reads names.  order_finder.c
 * calls this, in a thread of its own for each session. */
#include "frisbeed/serve/order_blocks.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/base/cancel.h"
#include "common/base/grow.h"
#include "common/image/format/order.h"
#include "common/image/read/sectors.h"
#include "common/image/read/sectors_blocks.h"
#include "common/wire/blockmap.h"
#include "frisbeed/serve/served_image.h"

/* A list that is being made. */
struct making {
	struct order_blocks list;
	size_t cap;                /* of list.runs */
	uint32_t chunks;           /* of the image that is served */
	uint32_t blocks_most;      /* of the list */
	struct blockmap **listed;  /* by chunk: its blocks in the list; NULL: none */
	struct sectors_blocks *of; /* the image */
};

void
order_blocks_free(struct order_blocks *l)
{
	free(l->runs);
	*l = (struct order_blocks){ .n = 0 };
}

static int
begin(struct making *m, struct sectors *s, const struct order_config *c, struct err *e)
{
	*m = (struct making){ .chunks = c->chunks, .blocks_most = c->blocks_most };
	m->listed = calloc(c->chunks, sizeof(struct blockmap *));
	if (m->listed == NULL)
		return err_nomem(e, "the blocks of an order");
	return sectors_blocks_new(&m->of, s, e);
}

/* Free all but the list itself. */
static void
end(struct making *m)
{
	for (uint32_t i = 0; m->listed != NULL && i < m->chunks; i++)
		free(m->listed[i]);
	free(m->listed);
	sectors_blocks_free(m->of);
}

/* Append blocks of a chunk that are not in the list. */
static int
append(struct making *m, struct wirext_run run, struct err *e)
{
	struct order_blocks *l = &m->list;
	struct wirext_run *last = l->n > 0 ? &l->runs[l->n - 1] : NULL;

	l->blocks += run.count;
	if (last != NULL && last->chunk == run.chunk && last->first + last->count == run.first) {
		last->count = (uint16_t)(last->count + run.count);
		return 0;
	}
	if (grow_array(&l->runs, &m->cap, l->n, sizeof *l->runs, "the blocks of an order", e) != 0)
		return -1;
	l->runs[l->n++] = run;
	return 0;
}

/* Append those of the blocks that are not in the list, as far as there is room. */
static int
add(struct making *m, uint32_t chunk, const struct blockmap *need, struct err *e)
{
	struct blockmap **listed = &m->listed[chunk];

	if (*listed == NULL)
		*listed = calloc(1, sizeof(struct blockmap));
	if (*listed == NULL)
		return err_nomem(e, "the blocks of an order");
	struct blockmap fresh = blockmap_minus(*need, *listed);
	fresh = blockmap_first(&fresh, m->blocks_most - m->list.blocks);
	blockmap_add(*listed, &fresh);
	for (uint32_t n, b = blockmap_next(&fresh, 0); b < WIRE_CHUNK_BLOCKS;
	     b = blockmap_next(&fresh, b + n)) {
		n = blockmap_run(&fresh, b, WIRE_CHUNK_BLOCKS - b);
		struct wirext_run run = { chunk, (uint16_t)b, (uint16_t)n };
		if (append(m, run, e) != 0)
			return -1;
	}
	return 0;
}

/* Append the blocks of these sectors, as far as there is room.  The file may be another one by now
 * than the one that is served, and have more chunks. */
static int
add_sectors(struct making *m, struct range r, struct err *e)
{
	struct blockmap need;
	uint32_t chunk;
	int rc = 0;

	while (m->list.blocks < m->blocks_most &&
	       (rc = sectors_blocks_next(m->of, &r, &chunk, &need, e)) == 1)
		if (cancel_check(e) != 0 ||
		    (chunk < m->chunks && add(m, chunk, &need, e) != 0))
			return -1;
	return rc < 0 ? -1 : 0;
}

static int
add_order(struct making *m, const struct order *order, struct err *e)
{
	m->list.machines = order->machines;
	for (size_t i = 0; i < order->n; i++) {
		struct range r = { order->runs[i].first_sector, order->runs[i].sectors };
		if (add_sectors(m, r, e) != 0)
			return -1;
	}
	return 0;
}

static int
list_order(struct order_blocks *out, const struct order_config *c, struct sectors *s,
    const struct order *order, struct err *e)
{
	struct making m;

	if (order->disk_sectors != sectors_total(s))
		return err_set(e, ERR_REFUSED,
		    "%s: is an order of reads of a disk of %" PRIu64
		    " sectors, and the image's disk has %" PRIu64,
		    c->order, order->disk_sectors, sectors_total(s));
	int rc = begin(&m, s, c, e);
	if (rc == 0)
		rc = add_order(&m, order, e);
	end(&m);
	/* What was listed before an error is not used. */
	if (rc == 0)
		*out = m.list;
	else
		order_blocks_free(&m.list);
	return rc;
}

static int
list_order_of_image(struct order_blocks *out, const struct order_config *c,
    const struct order *order, struct err *e)
{
	struct sectors *s;
	struct disk *d;

	if (served_image_disk(&d, c->store, NULL, c->image, e) != 0 ||
	    sectors_open_disk(&s, d, NULL, e) != 0)
		return -1;
	int rc = list_order(out, c, s, order, e);
	sectors_close(s);
	return rc;
}

int
order_blocks_make(struct order_blocks *out, const struct order_config *c, struct err *e)
{
	struct order order;

	*out = (struct order_blocks){ .n = 0 };
	if (order_read_regular(&order, c->order, e) != 0)
		return -1;
	int rc = list_order_of_image(out, c, &order, e);
	order_free(&order);
	return rc;
}
