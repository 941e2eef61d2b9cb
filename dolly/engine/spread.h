/* spread.h: chunks in memory, and the children to which they are sent.  All functions are
 * called in the engine's thread.
 *
 * There are spread_config.slots slots of one chunk each.  A chunk gets a slot when its
 * first byte arrives, and is sent to every child that wants it while the rest still
 * arrives.  A slot without users keeps its chunk until another chunk needs the slot, so
 * that a child that connects again often finds here what it lacks.
 *  */
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
	uint32_t chunk_bytes; /* the longest chunk, as it is sent */
	uint32_t piece_bytes; /* of a chunk in one frame, at most MSG_PIECE_MAX */
	uint32_t chunks;      /* of the image */
};

struct peer;

/* A child.  Only spread.c writes its fields. */
struct spread_child {
	uint32_t id;
	struct peer *owner;    /* its connection; borrowed */
	struct chunkmap wants; /* chunks that it wants and that are not in memory */
	struct chunkmap had;   /* chunks that were sent to it, and have not begun to arrive
	                          again since */
	uint32_t *queue; /* a ring of slots, in the order in which they are sent */
	uint32_t head, queued; /* first entry of the ring; number of entries */
	uint32_t offset; /* bytes of the first queued chunk in frames that were sent */
	uint32_t piece;  /* bytes of the piece that is being sent; 0: none */
	uint32_t sent;   /* bytes of that piece's frame that were sent, header included */
	uint8_t header[MSG_FRAME_BYTES + MSG_DATA_BYTES]; /* of that frame */
	bool busy; /* there has always been something to send since the last look */
	uint64_t looked_us; /* the last look at it */
	uint64_t busy_us;   /* since when it is busy, */
	uint64_t busy_bytes; /* ... and what it has taken since */
	uint64_t waited_us; /* the time in all for which it was busy */
	uint64_t bytes;     /* taken in all */
	bool leaf;          /* nobody waits for it: spread_make_room() */
	bool late;          /* ... as long as it is so slow */
	uint64_t late_us, late_bytes; /* when this was looked at last; `bytes` then */
	struct spread_child *next;
};

struct spread;

/* Makes the slots, which spread_free() releases.  ERR_NOMEM. */
int spread_new(struct spread **, const struct spread_config *, struct err *);
/* Releases the slots and all children.  NULL is allowed. */
void spread_free(struct spread *);

/* Is there a slot for one more chunk? */
bool spread_room(const struct spread *);
/* The slot that has this chunk, or into which it arrives; or SPREAD_NONE. */
uint32_t spread_find(const struct spread *, uint32_t chunk);
/* A chunk of `length` bytes (1 to chunk_bytes), which is in no slot, begins to arrive.
 * Returns its slot.  spread_room() must be true. */
uint32_t spread_begin(struct spread *, uint32_t chunk, uint32_t length);
/* Changes the length of a slot's chunk, of which no byte has arrived. */
void spread_set_length(struct spread *, uint32_t slot, uint32_t length);
/* Has the slot's whole chunk arrived? */
bool spread_is_whole(const struct spread *, uint32_t slot);
/* Of the chunk in a slot: its number, the bytes that have arrived, where they are, and its
 * length in bytes. */
uint32_t spread_chunk(const struct spread *, uint32_t slot);
uint32_t spread_have(const struct spread *, uint32_t slot);
uint8_t *spread_bytes(struct spread *, uint32_t slot);
uint32_t spread_length(const struct spread *, uint32_t slot);
/* More bytes of the slot's chunk have arrived.  True: the chunk is complete. */
bool spread_arrived(struct spread *, uint32_t slot, uint32_t bytes);
/* Removes the chunk of a slot, because its bytes do not come or are wrong.  Children that
 * were not sent all of it want it again. */
void spread_forget(struct spread *, uint32_t slot);
/* Makes the caller a user of the slot, whose chunk is not replaced until spread_let_go()
 * was called as often as spread_hold(). */
void spread_hold(struct spread *, uint32_t slot);
void spread_let_go(struct spread *, uint32_t slot);

/* Adds a child, which is the spread's until spread_leave().  NULL: no memory. */
struct spread_child *spread_join(struct spread *, uint32_t id, struct peer *owner);
/* Removes and releases the child. */
void spread_leave(struct spread *, struct spread_child *);
/* The child wants this chunk.  False: the chunk is not in memory, and has to be asked
 * for.  If what is in memory was sent to this child, it has come damaged, so it is not in
 * memory any more.  What has arrived again since is another copy: the child had the chunk
 * before, and wants it for its own children. */
bool spread_want(struct spread *, struct spread_child *, uint32_t chunk);
/* The bytes to send to the child next are at *at.  Returns how many; 0: none now. */
size_t spread_output(struct spread *, struct spread_child *, const void **at);
/* The first `bytes` bytes of the last spread_output() were sent. */
void spread_sent(struct spread *, struct spread_child *, size_t bytes);
/* Was a part of a frame sent to the child, and not its end? */
bool spread_in_frame(const struct spread_child *);
/* The lowest chunk not below `from` that any child wants and that is not in memory; when
 * there is none, the lowest of all; or SPREAD_NONE.  Without `leaves`: what a child wants
 * for which the others wait. */
uint32_t spread_next_wanted(const struct spread *, uint32_t from, bool leaves);
/* Is there a slot for one more chunk?  If there is none, a chunk gives way that only
 * waits until leaves, or children that are late, take it; they want it again. */
bool spread_make_room(struct spread *);
/* Nobody waits for this child any more. */
void spread_set_leaf(struct spread_child *);
/* The child says that its own children hold it up: it is not late until it takes too little for
 * another such time. */
void spread_excuse(struct spread_child *);
/* How many chunks the child wants now, in memory or not. */
uint32_t spread_wanted(const struct spread_child *);
/* Measures how long each child has let this side wait; to be called several times in each
 * deadline, unless spread_stuck() is.  A child that has taken nothing, or fewer than
 * `slow` bytes a second, for an eighth of the deadline is not waited for until it takes
 * more. */
void spread_look(struct spread *, uint64_t now_us, uint64_t deadline_us, uint64_t slow);
/* Calls fn for each chunk that a child wants, which is no leaf, and that is not in
 * memory: once for each such child. */
void spread_each_wanted(
    const struct spread *, void (*fn)(void *arg, uint32_t chunk), void *arg);
/* The first child; `next` leads to the others. */
struct spread_child *spread_children(const struct spread *);
/* The child with this id, or NULL. */
struct spread_child *spread_find_child(const struct spread *, uint32_t id);
/* Looks at all children.  Returns the id of a child that has taken nothing, or fewer than
 * `slow` bytes a second, for deadline_us while there was always something to send to it;
 * or 0.  *waits is the id of a child to which there has been something to send for half
 * that time, or 0. */
uint32_t spread_stuck(struct spread *, uint64_t now_us, uint64_t deadline_us,
    uint64_t slow, uint32_t *waits);

#endif /* DOLLY_ENGINE_SPREAD_H */
