/* server_queue.h: the blocks that will be read and sent, chunk after chunk.
 *
 * A block is "queued" until it is given out for reading, then "coming" until it is
 * sent; it is never in both, and what is in one of them is not added again.  A chunk
 * waits in the queue exactly while blocks of it are queued.
 *
 * Only server_queue.c writes struct server_queue and its entries.
 */
#ifndef FRISBEED_SERVER_SERVER_QUEUE_H
#define FRISBEED_SERVER_SERVER_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/blockmap.h"

struct server_queue_entry;

struct server_queue {
	uint32_t nchunks;
	uint64_t blocks;                   /* queued and coming */
	struct server_queue_entry **entry; /* by chunk; NULL: none of its blocks are in */
	struct server_queue_entry *head, *tail;
};

/* Blocks that are given out for reading. */
struct server_queue_run {
	uint32_t chunk, first, count;
	bool asked; /* by requests of the base protocol, at least in part */
	bool ends;  /* no more blocks of the chunk are queued; then: */
	uint32_t bulk; /* blocks of it that were given out since it was first queued */
};

/* -1: no memory; server_queue_fini() also then. */
int server_queue_init(struct server_queue *, uint32_t nchunks);
void server_queue_fini(struct server_queue *);
/* A request of the base protocol asks for these blocks: those that are not in are
 * queued, and their number returned.  0 also without memory: the client asks again. */
uint32_t server_queue_ask(
    struct server_queue *, uint32_t chunk, const struct blockmap *);
/* Which of these blocks are not in? */
struct blockmap server_queue_lacks(
    const struct server_queue *, uint32_t chunk, const struct blockmap *);
/* These blocks, none of which is in, are queued as well: before all other chunks, or
 * (unless the chunk waits already) behind them.  False: no memory. */
bool server_queue_add(struct server_queue *, uint32_t chunk, const struct blockmap *,
    bool before_others);
/* The next run of at most `most` blocks, which are coming now; false: nothing is queued.
 * With in_sets the chunk goes behind all others then, so that they take turns. */
bool server_queue_next(
    struct server_queue *, uint32_t most, bool in_sets, struct server_queue_run *);
/* These blocks, which were coming, have been sent, or need not be. */
void server_queue_sent(
    struct server_queue *, uint32_t chunk, uint32_t first, uint32_t count);
/* Is a block of the chunk queued or coming? */
bool server_queue_has(const struct server_queue *, uint32_t chunk);
/* The blocks of the chunk that are sent soon: those that are coming, and those that are
 * queued.  What old requests have queued may wait for long, behind many others, and
 * does not count. */
struct blockmap server_queue_soon(const struct server_queue *, uint32_t chunk);
/* Is part of the first chunk given out, and the next run more of it?  With in_sets: of
 * any chunk. */
bool server_queue_within(const struct server_queue *, bool in_sets);

/* Is nothing queued?  Blocks may be coming still. */
static inline bool
server_queue_empty(const struct server_queue *q)
{
	return q->head == NULL;
}

#endif /* FRISBEED_SERVER_SERVER_QUEUE_H */
