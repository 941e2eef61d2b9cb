/* client_chunks.h: what a client knows of every chunk, in 13 bytes each: whether
 * it is still to be loaded and in which order, and where a request for it stands
 * in the server's queue.
 *
 * The server serves chunks in the order in which any clients asked for them, and
 * every client hears all requests; so every client can follow that queue.  A
 * request older than the one that is being served was served before, or was lost:
 * requests before the horizon are of this kind.
 */
#ifndef FRISBEE_CLIENT_CLIENT_CHUNKS_H
#define FRISBEE_CLIENT_CLIENT_CHUNKS_H

#include <stdbool.h>
#include <stdint.h>

enum chunk_flag {
	CHUNK_OPEN = 1,  /* to be loaded, no buffer yet: in the list */
	CHUNK_DONE = 2,  /* complete */
	CHUNK_ASKED = 4, /* a client requested it, and it is in the server's queue */
	CHUNK_COVERED =
	    8,           /* the queued blocks of it are those that this client needs */
	CHUNK_MINE = 16, /* this client asked for it before */
	CHUNK_LACKED = 32,  /* blocks were dropped for want of a buffer */
	CHUNK_SKIPPED = 64, /* the pass that goes on is left out */
};

struct client_ask {
	uint32_t chunk, stamp;
};

/* Only client_chunks.c writes it. */
struct client_chunks {
	uint32_t n;
	uint8_t *flags;
	uint32_t *asked; /* stamp of the request, with CHUNK_ASKED */
	/* Circular list of the open chunks; n is its head.  A chunk that has a
	 * buffer keeps that buffer's number in next. */
	uint32_t *next, *prev;

	/* The server's queue as we heard it, oldest first: a ring with a power of
	 * two of room.  An entry counts while its chunk still carries its stamp. */
	struct client_ask *queue;
	uint32_t queue_head, queue_used, queue_room;
	uint32_t open_covered; /* chunks that are open, and covered */

	uint64_t start_us;
	uint32_t last_stamp;
	bool serving_known; /* the server is at request `serving` */
	uint32_t serving;
	uint32_t horizon; /* requests before this one were served or lost */
	/* The horizon becomes horizon_soon at horizon_at_us, because requests may have
	 * reached the server in another order.  horizon_next is the latest value, which
	 * follows. */
	bool horizon_pending;
	uint64_t horizon_at_us;
	uint32_t horizon_soon, horizon_next;
};

uint64_t client_random(uint64_t *state);

/* All chunks open, in random order from the seed or in sequence.  -1: no memory. */
int client_chunks_init(struct client_chunks *, uint32_t n, bool sequential,
    uint64_t seed, uint64_t now_us);
/* Request this chunk first.  Must be called before anything else. */
void client_chunks_prefer(struct client_chunks *, uint32_t chunk);
void client_chunks_fini(struct client_chunks *);

static inline bool
client_chunks_is(const struct client_chunks *k, uint32_t chunk, enum chunk_flag f)
{
	return (k->flags[chunk] & f) != 0;
}

/* The open chunk behind `chunk`, or the first one with chunk == n; n: none. */
static inline uint32_t
client_chunks_next(const struct client_chunks *k, uint32_t chunk)
{
	return k->next[chunk];
}

/* An open chunk gets the buffer with this number. */
void client_chunks_take(struct client_chunks *, uint32_t chunk, uint32_t buf);
/* A chunk loses its buffer, and becomes the next one to ask for. */
void client_chunks_reopen(struct client_chunks *, uint32_t chunk);
static inline uint32_t
client_chunks_buf(const struct client_chunks *k, uint32_t chunk)
{
	return k->next[chunk];
}

/* What the engine notes of a chunk: CHUNK_MINE, CHUNK_LACKED and CHUNK_SKIPPED alone. */
void client_chunks_note(struct client_chunks *, uint32_t chunk, unsigned flags);
void client_chunks_unnote(struct client_chunks *, uint32_t chunk, unsigned flags);

/* All of the chunk is here. */
void client_chunks_done(struct client_chunks *, uint32_t chunk);

/* A complete chunk is damaged: it is not complete any more, and keeps its buffer. */
void client_chunks_undone(struct client_chunks *, uint32_t chunk);

/* The stamp that a request of now would get; increases strictly. */
uint32_t client_chunks_stamp(struct client_chunks *, uint64_t now_us);
/* A client requested blocks of this chunk: those that are needed here, or others.  A
 * request that waits already keeps its place. */
void client_chunks_ask(struct client_chunks *, uint32_t chunk, bool covers,
    uint64_t now_us, uint64_t redo_us);
/* None of the requests for the chunk covers what is needed any more. */
void client_chunks_uncover(struct client_chunks *, uint32_t chunk);
/* Is a request that covers it still to be served?  Not one that is older than
 * redo_us, unless the server is known to be at an older one. */
bool client_chunks_waits(
    const struct client_chunks *, uint32_t chunk, uint64_t now_us, uint64_t redo_us);
/* The server begins to send this chunk.  True: it has not been as far in its queue
 * before. */
bool client_chunks_pass_begins(struct client_chunks *, uint32_t chunk);
/* The server has sent the chunk.  `begun` is a stamp from when it began: later requests still
 * wait. */
void client_chunks_pass_ends(struct client_chunks *, uint32_t chunk, uint32_t begun);
/* The queue is empty or lost, so it is no use to wait for any request made before
 * now. */
void client_chunks_forget(struct client_chunks *, uint64_t now_us);
/* Let time pass: what was overtaken for guard_us is lost.  When to call again, or
 * UINT64_MAX. */
uint64_t client_chunks_settle(
    struct client_chunks *, uint64_t now_us, uint64_t guard_us);
/* The time that client_chunks_settle() returned last; UINT64_MAX: nothing is pending. */
uint64_t client_chunks_settle_at_us(const struct client_chunks *);

#endif /* FRISBEE_CLIENT_CLIENT_CHUNKS_H */
