/* server_queue.h: the blocks that will be read and sent, chunk after chunk.
 *
 * A block is "queued" until it is given out for reading, then "coming" until it is
 * sent; it is never in both, and what is in one of them is not added again.  A chunk
 * waits in the queue exactly while blocks of it are queued.  What is requested of a chunk
 * while the carousel's blocks of it are queued is put off until all of these were given
 * out.
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
	uint32_t wanted; /* how many chunks have queued blocks of the carousel */
	struct server_queue_entry **entry; /* by chunk; NULL: none of its blocks are in */
	struct server_queue_entry *head, *tail;
};

enum server_queue_order {
	SERVER_QUEUE_CHUNKS, /* chunk after chunk */
	SERVER_QUEUE_TURNS,  /* interleaved: those of the carousel take turns, run by run */
	SERVER_QUEUE_WANTED, /* only those of the carousel do, as long as there are some */
};

/* A run of blocks that is scheduled for reading. */
struct server_queue_run {
	uint32_t chunk, first, count;
	bool asked; /* by requests of the base protocol, at least in part */
	bool ends;  /* no more blocks of the chunk are queued; then: */
	uint32_t
	    bulk; /* how many blocks of it were scheduled since it was first queued */
};

/* Returns -1 without memory; server_queue_fini() is needed then, too. */
int server_queue_init(struct server_queue *, uint32_t nchunks);
void server_queue_fini(struct server_queue *);
/* A request of the base protocol names these blocks.  Those that are neither queued nor
 * coming are queued; returns their number.  Returns 0 without memory: the client
 * requests them again. */
uint32_t server_queue_ask(
    struct server_queue *, uint32_t chunk, const struct blockmap *);
/* Those of these blocks that are neither queued nor coming. */
struct blockmap server_queue_lacks(
    const struct server_queue *, uint32_t chunk, const struct blockmap *);
/* Queue these blocks, none of which is queued or coming: in front of all other chunks,
 * or (unless the chunk waits already) behind them.  Returns false without memory. */
bool server_queue_add(struct server_queue *, uint32_t chunk, const struct blockmap *,
    bool before_others);
/* Take the next run of at most `most` blocks, which are coming from now on.  Returns
 * false if nothing is queued. */
bool server_queue_next(struct server_queue *, uint32_t most, enum server_queue_order,
    struct server_queue_run *);
/* These blocks, which were coming, have been sent, or are not needed. */
void server_queue_sent(
    struct server_queue *, uint32_t chunk, uint32_t first, uint32_t count);
/* Is a block of the chunk queued or coming? */
bool server_queue_has(const struct server_queue *, uint32_t chunk);
/* Are blocks of the chunk queued or coming that not only requests want? */
bool server_queue_passes(const struct server_queue *, uint32_t chunk);
/* The blocks of the chunk that will be sent soon: those that are coming, and those that
 * are queued. Blocks that only requests of the base protocol have queued may have to
 * wait for long, and do not count. */
struct blockmap server_queue_soon(const struct server_queue *, uint32_t chunk);
/* Is a part of the first chunk scheduled, and will the next run continue it?  With
 * interleave, any chunk counts but those that requests of the base protocol want: whoever
 * requests them again and again would keep all others out. */
bool server_queue_within(const struct server_queue *, bool interleave);

/* Is nothing queued?  Blocks may still be coming. */
static inline bool
server_queue_empty(const struct server_queue *q)
{
	return q->head == NULL;
}

#endif /* FRISBEED_SERVER_SERVER_QUEUE_H */
