/* server_sent.h: what has been sent: how many blocks, which ones, and when.
 *
 * When a client names the last block that it has received, this shows how many are
 * still on their way to it.  When a client requests a block that was sent, it has lost
 * it.
 *
 * Only server_sent.c writes struct server_sent.
 */
#ifndef FRISBEED_SERVER_SERVER_SENT_H
#define FRISBEED_SERVER_SERVER_SENT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/blockmap.h"
#include "frisbeed/server/server_image.h"

/* How many runs are remembered: 32 MiB in runs of the usual length.  A block that was
 * sent before that and has not been received is most likely lost, and not on its way.
 */
enum { SERVER_SENT_RUNS = 1024 };

struct server_sent {
	struct server_image image;
	uint64_t blocks, parity; /* how many were sent so far */
	uint64_t again;          /* how many of the blocks had been sent before */
	uint64_t last_us;        /* when a block was last sent */
	/* By chunk: the blocks that were sent at least once (NULL: none), and the
	 * millisecond in which the last one was sent. */
	struct blockmap **ever;
	struct blockmap whole; /* shared by all chunks of which every block was sent */
	uint32_t *ms;
	struct {
		uint32_t chunk, first, count;
		uint64_t before; /* how many blocks were sent before it, with parity */
	} run[SERVER_SENT_RUNS]; /* ring */
	uint64_t nruns;          /* how many runs there were so far */
};

/* Returns -1 without memory; server_sent_fini() is needed then, too. */
int server_sent_init(struct server_sent *, const struct server_image *);
void server_sent_fini(struct server_sent *);
/* The first block of a run is about to be sent. */
void server_sent_run(
    struct server_sent *, uint32_t chunk, uint32_t first, uint32_t count);
void server_sent_block(
    struct server_sent *, uint64_t now_us, uint32_t chunk, uint32_t block);
void server_sent_parity(struct server_sent *, uint64_t now_us);
/* *sent is how many blocks had been sent when this one was sent last, including it.
 * Returns false if that is not remembered, or the block was never sent. */
bool server_sent_upto(
    const struct server_sent *, uint32_t chunk, uint32_t block, uint64_t *sent);
/* How many blocks of the chunk were sent at least once. */
uint32_t server_sent_blocks(const struct server_sent *, uint32_t chunk);
/* Was a block of the chunk sent in this millisecond or later? */
bool server_sent_since(const struct server_sent *, uint32_t chunk, uint32_t ms);

/* The number of blocks and parity blocks sent so far. */
static inline uint64_t
server_sent_all(const struct server_sent *t)
{
	return t->blocks + t->parity;
}

#endif /* FRISBEED_SERVER_SERVER_SENT_H */
