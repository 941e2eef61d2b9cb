/* early.h: keeps blocks of a growing file that come before their chunk is complete and proved.
 *
 * They are kept in memory, since whoever receives packets hands them in, and must never wait for a
 * disk.  When they are too many, those of the chunk that was used longest ago are forgotten; a
 * reader who still needs them asks for them again.  The caller holds a lock during every call.
 *
 * Only early.c writes struct early.
 */
#ifndef COMMON_IMAGE_READ_EARLY_H
#define COMMON_IMAGE_READ_EARLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/base/lru.h"
#include "common/wire/blockmap.h"

enum {
	EARLY_PIECE_BLOCKS = 16, /* blocks for which memory is allocated at a time */
	EARLY_PIECES = WIRE_CHUNK_BLOCKS / EARLY_PIECE_BLOCKS,
};

/* The early blocks of a chunk. */
struct early_chunk {
	struct blockmap here;
	uint32_t number, entry; /* of the chunk; its entry in the table */
	uint8_t *pieces[EARLY_PIECES];
};

struct early {
	size_t most_bytes, bytes; /* of the pieces */
	struct early_chunk **at;  /* by chunk; NULL: none */
	struct early_chunk **by_entry;
	struct lru order; /* of the chunks that have early blocks */
	uint32_t chunks;
};

/* Make a struct in which nothing is open; called before anything else. */
void early_init(struct early *);
/* Begin to keep blocks of an image that has `chunks` chunks, at most most_bytes of them, but always
 * those of one chunk.  most_bytes 0: a default, 256 MiB or an eighth of the machine's memory,
 * whichever is less.  After an error early_close() is still to be called.  ERR_NOMEM. */
int early_open(struct early *, uint32_t chunks, size_t most_bytes, struct err *);
/* Keep `count` blocks of a chunk, from block `first` on.  False: there is no memory. */
bool early_keep(struct early *, uint32_t chunk, uint32_t first, uint32_t count,
    const uint8_t *data);
/* Forget the blocks of a chunk that is in the growing file by now. */
void early_forget(struct early *, uint32_t chunk);
/* Returns the blocks of `need` that are not kept here. */
struct blockmap early_lacks(
    const struct early *, uint32_t chunk, const struct blockmap *need);
/* Copy the blocks `need`, all of which are kept here, to their places in `to`, whose beginning
 * is the place of block `first`. */
void early_read(struct early *, uint32_t chunk, const struct blockmap *need, uint32_t first,
    uint8_t *to);
/* Drop all blocks. */
void early_close(struct early *);

#endif /* COMMON_IMAGE_READ_EARLY_H */
