/* spread.h: chunks in memory, and the children that they are sent to.
 *
 * There are so many slots of one chunk each as the configuration says.  A chunk gets a
 * slot when its first byte arrives, and is sent to every child that wants it while it
 * still arrives.  A slot that nobody uses any more keeps its chunk until another one
 * needs the place, so that a child that comes from a broken connection often finds here
 * what it lacks.
 */
#ifndef DOLLY_ENGINE_SPREAD_H
#define DOLLY_ENGINE_SPREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "dolly/engine/chunkmap.h"
#include "dolly/engine/msg.h"

#define SPREAD_NONE UINT32_MAX

struct spread_config {
	uint32_t slots;       /* > 1 */
	uint32_t chunk_bytes; /* the most of one chunk, as it is sent */
	uint32_t piece_bytes; /* in a frame, at most MSG_PIECE_MAX */
	uint32_t chunks;
};

struct peer;

/* A child; only spread.c writes it. */
struct spread_child {
	uint32_t id;
	struct peer *owner;    /* whose it is; borrowed */
	struct chunkmap wants; /* not in memory yet */
	uint32_t *queue; /* a ring of slots, in the order in which they are sent */
	uint32_t head, queued;
	uint32_t offset; /* of the first one in the queue: pieces sent before */
	uint32_t piece;  /* bytes of the piece that is being sent; 0: none */
	uint32_t sent;   /* of its frame */
	uint8_t header[MSG_FRAME_BYTES + MSG_DATA_BYTES];
	bool busy; /* it has had something to take since busy_us, */
	uint64_t busy_us;
	uint64_t busy_bytes; /* how many bytes of that chunk it has taken */
	uint64_t bytes;      /* taken in all */
	struct spread_child *next;
};

struct spread;

/* ERR_NOMEM. */
int spread_new(struct spread **, const struct spread_config *, struct err *);
void spread_free(struct spread *); /* its children, too */

/* Is there a slot for one more chunk? */
bool spread_room(const struct spread *);
/* The slot that has this chunk, or into which it arrives, or SPREAD_NONE. */
uint32_t spread_find(const struct spread *, uint32_t chunk);
/* The chunk of so many bytes (at most chunk_bytes) begins to arrive: into this slot.
 * spread_room() is true. */
uint32_t spread_begin(struct spread *, uint32_t chunk, uint32_t length);
/* It has turned out to be that long; nothing of it has arrived yet. */
void spread_set_length(struct spread *, uint32_t slot, uint32_t length);
/* Has all of its chunk arrived? */
bool spread_is_whole(const struct spread *, uint32_t slot);
uint32_t spread_chunk(const struct spread *, uint32_t slot);
/* How much of it. */
uint32_t spread_have(const struct spread *, uint32_t slot);
uint8_t *spread_bytes(struct spread *, uint32_t slot);
uint32_t spread_length(const struct spread *, uint32_t slot); /* of its chunk */
/* n more bytes have arrived.  Returns true if the chunk is complete. */
bool spread_arrived(struct spread *, uint32_t slot, uint32_t bytes);
/* Its bytes do not come, or are wrong: forget it.  Children that have not got all of it
 * want it again. */
void spread_forget(struct spread *, uint32_t slot);
/* The slot stays until it is let go as often as it was held. */
void spread_hold(struct spread *, uint32_t slot);
void spread_let_go(struct spread *, uint32_t slot);

/* A child, the spread's until spread_leave().  NULL: no memory. */
struct spread_child *spread_join(struct spread *, uint32_t id, struct peer *owner);
void spread_leave(struct spread *, struct spread_child *);
/* The child wants this chunk.  False: it has to be asked for, since it is not in
 * memory. */
bool spread_want(struct spread *, struct spread_child *, uint32_t chunk);
/* What to send to it next, in *at; 0: nothing now. */
size_t spread_output(struct spread *, struct spread_child *, const void **at);
/* n bytes of that were sent. */
void spread_sent(struct spread *, struct spread_child *, size_t bytes);
/* Is it in the middle of a frame? */
bool spread_in_frame(const struct spread_child *);
/* The next chunk from `from` on, and around, that a child wants; SPREAD_NONE. */
uint32_t spread_next_wanted(const struct spread *, uint32_t from);
/* Calls fn for each chunk that any child wants. */
void spread_each_wanted(
    const struct spread *, void (*fn)(void *arg, uint32_t chunk), void *arg);
/* All of them, by `next`. */
struct spread_child *spread_children(const struct spread *);
/* The child of this number, or NULL. */
struct spread_child *spread_find_child(const struct spread *, uint32_t id);
/* Looks at all children: the id of one that has taken less than `slow` bytes a second
 * for the time of the deadline while it was sent something, or 0.  *waits: the one that
 * the children's slots have waited for since half that time, or 0. */
uint32_t spread_stuck(struct spread *, uint64_t now_us, uint64_t deadline_us,
    uint64_t slow, uint32_t *waits);

#endif /* DOLLY_ENGINE_SPREAD_H */
