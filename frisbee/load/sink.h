/* sink.h: what becomes of complete chunks: the client's other two stages.
 *
 * Chunk buffers are handed over by number; a thread of its own installs them
 * (or writes them as they are, for -N), so the network never waits for the
 * disk.  What becomes of them comes through the mailbox, as enum sink_event has it; it
 * must hold `buffers` + SINK_EVENTS.
 *
 * Each chunk is proved before anything is done with it: by its signature, by what
 * authenticates its encryption, by its digest, or else by decoding it; and it must be of
 * the same image, and of the same kind, as the first one that was accepted.  A buffer
 * whose chunk is not proved comes back as damaged: some of its blocks should come
 * again, the second time all.  How often is the caller's choice.
 * Where chunks must come in order, those behind it wait in their buffers.
 *
 * When only some partitions are installed (--only), which chunks are needed shows chunk
 * by chunk: SINK_WANTS comes in front of the buffer that told of them.
 */
#ifndef FRISBEE_LOAD_SINK_H
#define FRISBEE_LOAD_SINK_H

#include "common/base/mailbox.h"
#include "common/wire/blockmap.h"
#include "imageunzip/install/install.h"
#include "imageunzip/install/rehearsal.h"

enum { SINK_EVENTS = 4 };

enum sink_event {
	SINK_FREE,    /* buffer n is not needed any more */
	SINK_DAMAGED, /* the chunk in buffer n: see sink_damaged() */
	SINK_PLANNED, /* buffer n: see sink_planned() */
	SINK_WANTS,   /* more chunks are needed: see sink_wants() */
	SINK_FAILED,  /* the last event: see sink_close() */
	SINK_DONE,    /* the last event: all is installed */
};

struct sink;

struct sink_config {
	struct install_config install;
	bool any_file; /* -N: no image, write the bytes */
	/* The image itself, its chunks proved, instead of what it holds.  One that is
	 * encrypted is kept so where there is no key. */
	bool as_image;
	const char *target;
	/* With as_image: this chunk is in the target; in the sink's thread.  Or NULL. */
	void (*stored)(void *arg, uint32_t chunk);
	void *stored_arg;
	uint32_t buffers;
	/* --dry-run: nothing is written, chunk 0 is all that is asked for, and this tells
	 * what was found; or NULL. */
	struct rehearsal_found *dry;
};

int sink_new(
    struct sink **, const struct sink_config *, struct mailbox *, struct err *);
/* Where block b of a buffer belongs. */
uint8_t *sink_buffer(struct sink *, uint32_t buf);
/* Need this chunk not be asked for: it is on the disk already (--state), or not needed
 * (--dry-run), or whether it is needed will be told by sink_wants() (--only)?  Before the
 * first sink_put(). */
bool sink_has(void *sink, uint32_t chunk);
/* ... or is that so of some? */
bool sink_resumes(const struct sink *);
/* Must chunks come in order, since the target is a pipe? */
bool sink_in_order(const struct sink *);
/* Must chunk 0 come before anything is written?  Until then the buffers of other chunks
 * are kept, so one must be left for it. */
bool sink_waits(const struct sink *);
/* How many chunks there will be; before the first sink_put().  Again, when that turns
 * out to be wrong and all that was put came back. */
void sink_expect(struct sink *, uint32_t nchunks);
/* A chunk is complete, perhaps with parity in the places of lost blocks (as
 * client_parity() has it, copied; NULL: none).  Never blocks. */
void sink_put(struct sink *, uint32_t chunk, uint32_t buf, uint32_t bytes,
    const uint8_t *parity_at);
/* The next chunk that is needed after all; false: no more for now. */
bool sink_wants(struct sink *, uint32_t *chunk);
/* Do parts of a chunk help (--skip-same)?  Then sink_plan() says which. */
bool sink_takes_parts(const struct sink *);
/* Of the chunk in a buffer these blocks have come: what else is needed?
 * SINK_PLANNED comes when that is known. */
void sink_plan(struct sink *, uint32_t buf, const struct blockmap *here);
/* Then: what, and whether that is all. */
const struct blockmap *sink_planned(const struct sink *, uint32_t buf, bool *final);
/* As sink_put(), for a chunk of which these blocks are here, by its plan. */
void sink_put_planned(struct sink *, uint32_t chunk, uint32_t buf, uint32_t bytes,
    const struct blockmap *here);
/* When a chunk came back damaged: these blocks of it are. */
const struct blockmap *sink_damaged(const struct sink *, uint32_t buf);
/* ... of this chunk, and why that is believed. */
const struct err *sink_damage(const struct sink *, uint32_t buf, uint32_t *chunk);
/* No more chunks: finish and report through the mailbox. */
void sink_end(struct sink *);
/* Join the thread.  0 when all is where it belongs. */
int sink_close(struct sink *, struct install_stats *, struct err *);

#endif /* FRISBEE_LOAD_SINK_H */
