/* client_position.h: where the server is in the image, how fast it sends, and how late the network
 * delivers.
 *
 * The server sends a chunk, and then another one.  The blocks of a chunk that come one after
 * the other are a pass; with the extension, eight chunks with the same number / 8 may take
 * turns, and all of them are in one pass then.  What a chunk lacks at the end of its pass was
 * lost, except for stragglers, which the network delivers late: the position learns for how long
 * they must be waited for.
 */
#ifndef FRISBEE_CLIENT_CLIENT_POSITION_H
#define FRISBEE_CLIENT_CLIENT_POSITION_H

#include <stdbool.h>
#include <stdint.h>

/* Only client_position.c writes it. */
struct client_position {
	uint32_t chunks;  /* of the image; as the number of a chunk: none */
	uint32_t current; /* whose pass goes on */
	uint32_t begun;   /* stamp of client_chunks.h when it began */
	uint64_t begun_us;
	bool interleaved;  /* chunks take turns */
	uint32_t last;     /* the chunk whose pass ended last */
	uint64_t last_us;  /* when it ended */
	uint64_t guard_us; /* stragglers are waited for this long */
	uint64_t chunk_us; /* a whole chunk takes this long */
	uint64_t block_us; /* when the last block came */
	uint64_t received; /* blocks and parity that came, of use or not */
	uint64_t mark_us;  /* when the last whole chunk's worth of them had come */
	uint32_t at_chunk, at_block; /* the last block that came */
	uint32_t since;              /* parity that came after it */
};

/* What ended with a pass: these chunks, of which some may not be in the image. */
struct client_passed {
	uint32_t chunk; /* the one that was sent last */
	uint32_t first, count;
};

/* An image of this number of chunks is loaded. */
void client_position_begin(struct client_position *, uint32_t chunks);
/* The server says whether chunks take turns. */
void client_position_interleave(struct client_position *, bool interleaved);

/* Blocks or parity came, of use or not.  True: a whole chunk's worth since the last time. */
bool client_position_came(struct client_position *, uint64_t now_us, uint32_t blocks);
/* The last of the blocks that came: the server has sent everything before it. */
void client_position_at(
    struct client_position *, uint64_t now_us, uint32_t chunk, uint32_t block);
/* One of what came was parity. */
void client_position_parity(struct client_position *);
/* This chunk has become complete. */
void client_position_complete(
    struct client_position *, uint64_t now_us, uint32_t chunk);

/* Is a pass of the chunk going on, perhaps in turns with others? */
bool client_position_in_pass(const struct client_position *, uint32_t chunk);
/* If so, this chunk is the current one now. */
bool client_position_goes_on(struct client_position *, uint32_t chunk);
/* A pass of this chunk begins.  The one before it must have ended. */
void client_position_pass_begins(
    struct client_position *, uint64_t now_us, uint32_t chunk, uint32_t stamp);
/* The pass is over.  False: there was none. */
bool client_position_pass_ends(
    struct client_position *, uint64_t now_us, struct client_passed *);
/* May blocks of this chunk still be on their way, since its pass was the last one? */
bool client_position_may_be_late(
    const struct client_position *, uint64_t now_us, uint32_t chunk);
/* A block came this long after the pass of its chunk had ended. */
void client_position_straggler(struct client_position *, uint64_t late_us);

#endif /* FRISBEE_CLIENT_CLIENT_POSITION_H */
