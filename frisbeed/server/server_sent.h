/* server_sent.h: what has been sent: how many blocks, which ones, and when.
 *
 * A client that names the last block that it has received tells how much is still on
 * its way to it; a client that asks again for a block that was sent has lost it.
 *
 * Only server_sent.c writes struct server_sent.
 */
#ifndef FRISBEED_SERVER_SERVER_SENT_H
#define FRISBEED_SERVER_SERVER_SENT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/blockmap.h"
#include "frisbeed/server/server_image.h"

/* Runs that are remembered: 32 MiB in runs of the usual length.  What a client has not
 * received of that much is most likely lost and not on its way. */
enum { SERVER_SENT_RUNS = 1024 };

struct server_sent {
	struct server_image image;
	uint64_t blocks, parity; /* sent so far */
	uint64_t again;          /* of the blocks: had been sent before */
	uint64_t last_us;        /* when one of them was last sent */
	/* By chunk: the blocks that were ever sent (NULL: none), and when the last one
	 * was, in milliseconds. */
	struct blockmap **ever;
	struct blockmap whole; /* shared by chunks that were sent whole */
	uint32_t *ms;
	struct {
		uint32_t chunk, first, count;
		uint64_t before; /* blocks sent before it, parity included */
	} run[SERVER_SENT_RUNS]; /* ring */
	uint64_t nruns;          /* ever */
};

/* -1: no memory; server_sent_fini() also then. */
int server_sent_init(struct server_sent *, const struct server_image *);
void server_sent_fini(struct server_sent *);
/* A run begins to be sent; its blocks follow one by one. */
void server_sent_run(
    struct server_sent *, uint32_t chunk, uint32_t first, uint32_t count);
void server_sent_block(
    struct server_sent *, uint64_t now_us, uint32_t chunk, uint32_t block);
void server_sent_parity(struct server_sent *, uint64_t now_us);
/* How many had been sent when this block last was, with it; false: it is not
 * remembered, or was never sent. */
bool server_sent_upto(
    const struct server_sent *, uint32_t chunk, uint32_t block, uint64_t *sent);
/* Was a block of the chunk sent at this millisecond or later? */
bool server_sent_since(const struct server_sent *, uint32_t chunk, uint32_t ms);

/* Blocks and parity blocks. */
static inline uint64_t
server_sent_all(const struct server_sent *t)
{
	return t->blocks + t->parity;
}

#endif /* FRISBEED_SERVER_SERVER_SENT_H */
