/* client_position.h: where the server is in the image, how fast it sends, and how late
 * the network delivers.
 *
 * The server sends one chunk after the other.  The blocks of a chunk that it sends one
 * after the other are a pass; if chunks are interleaved, a pass has the eight chunks
 * with the same number / 8.  What a chunk lacks at the end of its pass was lost, except
 * for stragglers, which the network delivers late.  The position learns for how long
 * the client has to wait for them.
 */
#ifndef FRISBEE_CLIENT_CLIENT_POSITION_H
#define FRISBEE_CLIENT_CLIENT_POSITION_H

#include <stdbool.h>
#include <stdint.h>

/* Only client_position.c writes it. */
struct client_position {
	uint32_t chunks;  /* the chunks of the image; as the number of a chunk it means
	                     none */
	uint32_t current; /* the chunk whose pass is going on */
	uint32_t begun;   /* stamp of client_chunks.h when it began */
	uint64_t begun_us;
	bool interleaved;  /* eight chunks are interleaved */
	uint32_t last;     /* the chunk whose pass ended last */
	uint64_t last_us;  /* when it ended */
	uint64_t guard_us; /* for how long to wait for stragglers */
	uint64_t chunk_us; /* how long a whole chunk takes */
	uint64_t block_us; /* when the last block came */
	uint64_t
	    received; /* how many blocks and parity blocks arrived, needed or not */
	uint64_t
	    mark_us; /* when the number of blocks was last a multiple of a chunk's */
	uint32_t at_chunk, at_block; /* the last block that arrived */
	uint32_t since;              /* how many parity blocks arrived after it */
	uint64_t gaps; /* how often blocks were missing between two of a chunk that came
	                  one after the other */
};

/* The chunks whose pass has ended.  Some of them may be beyond the end of the image. */
struct client_passed {
	uint32_t chunk; /* the one that was sent last */
	uint32_t first, count;
};

/* An image of this number of chunks is loaded. */
void client_position_begin(struct client_position *, uint32_t chunks);
/* The server has said whether chunks are interleaved. */
void client_position_interleave(struct client_position *, bool interleaved);

/* Blocks or parity arrived, needed or not.  Returns true if a whole chunk's worth
 * has arrived since it last did. */
bool client_position_came(struct client_position *, uint64_t now_us, uint32_t blocks);
/* The last of the blocks that arrived.  The server has sent everything before it. */
void client_position_at(struct client_position *, uint64_t now_us, uint32_t chunk,
    uint32_t first, uint32_t count);
/* One of the arrived blocks was parity. */
void client_position_parity(struct client_position *);
/* This chunk has become complete. */
void client_position_complete(
    struct client_position *, uint64_t now_us, uint32_t chunk);

/* Is a pass of the chunk going on, perhaps interleaved with others? */
bool client_position_in_pass(const struct client_position *, uint32_t chunk);
/* If so, this chunk is the current one now. */
bool client_position_goes_on(struct client_position *, uint32_t chunk);
/* A pass of this chunk begins.  The one before it must have ended. */
void client_position_pass_begins(
    struct client_position *, uint64_t now_us, uint32_t chunk, uint32_t stamp);
/* The pass is over.  Returns false if there was none. */
bool client_position_pass_ends(
    struct client_position *, uint64_t now_us, struct client_passed *);
/* May blocks of this chunk still be on their way, since its pass was the last one? */
bool client_position_may_be_late(
    const struct client_position *, uint64_t now_us, uint32_t chunk);
/* A block arrived this long after the pass of its chunk had ended. */
void client_position_straggler(struct client_position *, uint64_t late_us);

#endif /* FRISBEE_CLIENT_CLIENT_POSITION_H */
