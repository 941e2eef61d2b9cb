/* server_queue.c: the blocks that will be read and sent.  The server's engine adds what
 * requests and the carousel want, and takes runs for its shell, in its only thread. */
#include "frisbeed/server/server_queue.h"

#include <assert.h>
#include <stdlib.h>

struct server_queue_entry {
	struct server_queue_entry *next;
	uint32_t chunk;
	uint32_t cursor; /* the next run starts here or behind */
	bool waits;      /* in the queue, exactly while `queued` is not empty */
	bool asked;      /* because of requests of the base protocol */
	bool wanted;     /* because of the carousel: this is a pass of the chunk */
	uint32_t bulk;   /* blocks that were queued since it began to wait */
	struct blockmap queued, coming;
	struct blockmap later; /* requested in a pass; they are queued when it ends */
};

int
server_queue_init(struct server_queue *q, uint32_t nchunks)
{
	*q = (struct server_queue){ .nchunks = nchunks };
	q->entry = calloc(nchunks, sizeof(struct server_queue_entry *));
	return q->entry != NULL ? 0 : -1;
}

void
server_queue_fini(struct server_queue *q)
{
	for (uint32_t c = 0; q->entry != NULL && c < q->nchunks; c++)
		free(q->entry[c]);
	free(q->entry);
	*q = (struct server_queue){ .nchunks = 0 };
}

/* Returns NULL without memory. */
static struct server_queue_entry *
entry_of(struct server_queue *q, uint32_t chunk)
{
	struct server_queue_entry *e = q->entry[chunk];

	if (e == NULL) {
		e = q->entry[chunk] = calloc(1, sizeof *e);
		if (e != NULL)
			e->chunk = chunk;
	}
	return e;
}

/* Free the entry if it has no blocks. */
static void
unref(struct server_queue *q, struct server_queue_entry *e)
{
	if (!e->waits && blockmap_empty(&e->coming)) {
		q->entry[e->chunk] = NULL;
		free(e);
	}
}

static void
append(struct server_queue *q, struct server_queue_entry *e)
{
	e->next = NULL;
	e->waits = true;
	if (q->head == NULL)
		q->head = e;
	else
		q->tail->next = e;
	q->tail = e;
}

static void
prepend(struct server_queue *q, struct server_queue_entry *e)
{
	e->next = q->head;
	e->waits = true;
	if (q->head == NULL)
		q->tail = e;
	q->head = e;
}

static struct server_queue_entry *
pop(struct server_queue *q)
{
	struct server_queue_entry *e = q->head;

	q->head = e->next;
	e->waits = false;
	e->cursor = 0;
	return e;
}

/* Move a waiting entry in front of all others. */
static void
advance(struct server_queue *q, struct server_queue_entry *e)
{
	struct server_queue_entry *before = q->head;

	if (e == q->head)
		return;
	while (before->next != e)
		before = before->next;
	before->next = e->next;
	if (q->tail == e)
		q->tail = before;
	prepend(q, e);
}

/* Move the first entry behind all others; it keeps its cursor. */
static void
rotate(struct server_queue *q)
{
	struct server_queue_entry *e = q->head;

	if (e->next == NULL)
		return;
	q->head = e->next;
	e->next = NULL;
	q->tail->next = e;
	q->tail = e;
}

static uint32_t
enqueue(
    struct server_queue *q, struct server_queue_entry *e, const struct blockmap *blocks)
{
	uint32_t n = blockmap_count(blocks);

	blockmap_add(&e->queued, blocks);
	e->bulk += n;
	q->blocks += n;
	return n;
}

/* What is requested while the carousel sends the chunk would make its pass longer, and
 * endless for a client that requests again what has just passed.  Returns how many of the
 * blocks were not put off before. */
static uint32_t
put_off(struct server_queue_entry *e, const struct blockmap *blocks)
{
	struct blockmap fresh = blockmap_minus(*blocks, &e->later);

	blockmap_add(&e->later, &fresh);
	return blockmap_count(&fresh);
}

/* All queued blocks of the entry were taken: it waits no more, or for what was put off. */
static void
end_pass(struct server_queue *q, struct server_queue_entry *e)
{
	struct blockmap later = e->later;

	q->wanted -= e->wanted;
	e->asked = e->wanted = false;
	e->bulk = 0;
	e->later = (struct blockmap){ { 0 } };
	if (blockmap_empty(&later))
		return;
	append(q, e);
	e->asked = true;
	enqueue(q, e, &later);
}

struct blockmap
server_queue_lacks(
    const struct server_queue *q, uint32_t chunk, const struct blockmap *want)
{
	const struct server_queue_entry *e = q->entry[chunk];

	if (e == NULL)
		return *want;
	struct blockmap lacks = blockmap_minus(*want, &e->queued);
	return blockmap_minus(lacks, &e->coming);
}

uint32_t
server_queue_ask(
    struct server_queue *q, uint32_t chunk, const struct blockmap *blocks)
{
	struct blockmap fresh = server_queue_lacks(q, chunk, blocks);

	if (blockmap_empty(&fresh))
		return 0;
	struct server_queue_entry *e = entry_of(q, chunk);
	if (e == NULL)
		return 0;
	if (e->wanted)
		return put_off(e, &fresh);
	if (!e->waits)
		append(q, e);
	e->asked = true;
	return enqueue(q, e, &fresh);
}

bool
server_queue_add(struct server_queue *q, uint32_t chunk, const struct blockmap *blocks,
    bool before_others)
{
	struct server_queue_entry *e = entry_of(q, chunk);

	if (e == NULL)
		return false;
	enqueue(q, e, blocks);
	q->wanted += !e->wanted && !blockmap_empty(blocks);
	e->wanted |= !blockmap_empty(blocks);
	e->later = blockmap_minus(e->later, blocks);
	if (e->waits && before_others)
		/* A request of the base protocol waits for the chunk, too: it is sent
		 * now, for all. */
		advance(q, e);
	else if (blockmap_empty(&e->queued))
		unref(q, e);
	else if (!e->waits && before_others)
		prepend(q, e);
	else if (!e->waits)
		append(q, e);
	return true;
}

/* The first entry that has blocks at or after its cursor.  Blocks before the cursor
 * were requested again, and wait until the entry comes round again.  With interleaving,
 * several entries have begun.  wanted: those that only requests want are passed over. */
static struct server_queue_entry *
next_entry(struct server_queue *q, bool wanted)
{
	for (;;)
		if (wanted && !q->head->wanted)
			rotate(q);
		else if (blockmap_next(&q->head->queued, q->head->cursor) ==
			 WIRE_CHUNK_BLOCKS)
			append(q, pop(q));
		else
			return q->head;
}

bool
server_queue_next(struct server_queue *q, uint32_t most, enum server_queue_order order,
    struct server_queue_run *run)
{
	if (q->head == NULL)
		return false;
	struct server_queue_entry *e =
	    next_entry(q, order == SERVER_QUEUE_WANTED && q->wanted > 0);
	uint32_t first = blockmap_next(&e->queued, e->cursor);
	uint32_t n = blockmap_run(&e->queued, first, most);
	assert(n > 0);
	struct blockmap taken = blockmap_range(first, n);
	blockmap_remove(&e->queued, first, n);
	blockmap_add(&e->coming, &taken);
	e->cursor = first + n;
	*run = (struct server_queue_run){ .chunk = e->chunk,
		.first = first,
		.count = n,
		.asked = e->asked,
		.ends = blockmap_empty(&e->queued),
		.bulk = e->bulk };
	if (run->ends)
		end_pass(q, pop(q));
	else if (order != SERVER_QUEUE_CHUNKS && e->wanted)
		rotate(q);
	return true;
}

void
server_queue_sent(
    struct server_queue *q, uint32_t chunk, uint32_t first, uint32_t count)
{
	struct server_queue_entry *e = q->entry[chunk];

	assert(e != NULL);
	blockmap_remove(&e->coming, first, count);
	q->blocks -= count;
	unref(q, e);
}

bool
server_queue_has(const struct server_queue *q, uint32_t chunk)
{
	return q->entry[chunk] != NULL;
}

bool
server_queue_passes(const struct server_queue *q, uint32_t chunk)
{
	const struct server_queue_entry *e = q->entry[chunk];

	return e != NULL && (e->wanted || !e->asked);
}

struct blockmap
server_queue_soon(const struct server_queue *q, uint32_t chunk)
{
	const struct server_queue_entry *e = q->entry[chunk];
	struct blockmap soon = { { 0 } };

	if (e == NULL)
		return soon;
	soon = e->coming;
	if (e->wanted)
		blockmap_add(&soon, &e->queued);
	return soon;
}

bool
server_queue_within(const struct server_queue *q, bool interleave)
{
	for (const struct server_queue_entry *e = q->head; e != NULL;
	     e = interleave ? e->next : NULL)
		if (e->cursor > 0 && !(interleave && !e->wanted) &&
		    blockmap_next(&e->queued, e->cursor) < WIRE_CHUNK_BLOCKS)
			return true;
	return false;
}
