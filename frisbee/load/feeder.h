/* feeder.h: complete chunks into a sink: the stage behind the client's engine.
 *
 * Chunk buffers are handed over by number; a thread of its own proves them and puts
 * them into the sink (common/image/read/sink.h), so the network never waits for the
 * disk.  What becomes of them comes through the mailbox, as enum feeder_event has it; it
 * must hold `buffers` + FEEDER_EVENTS.
 *
 * Each chunk of an image is proved before anything is done with it (prove.h).  A buffer
 * whose chunk is not proved comes back as damaged: some of its blocks should come
 * again, the second time all.  How often is the caller's choice.
 * Where the sink wants chunks in order, those behind a damaged one wait in their buffers.
 */
#ifndef FRISBEE_LOAD_FEEDER_H
#define FRISBEE_LOAD_FEEDER_H

#include "common/base/mailbox.h"
#include "common/image/read/prove.h"
#include "common/image/read/sink.h"
#include "common/wire/blockmap.h"

enum { FEEDER_EVENTS = 4 };

enum feeder_event {
	FEEDER_FREE,    /* buffer n is not needed any more */
	FEEDER_DAMAGED, /* the chunk in buffer n: see feeder_damaged() */
	FEEDER_PLANNED, /* buffer n: see feeder_planned() */
	FEEDER_WANTS,   /* more chunks are needed: see feeder_wants(); it comes in front of
	                 * the buffer that told of them */
	FEEDER_FAILED,  /* the last event: see feeder_close() */
	FEEDER_DONE,    /* the last event: all is where it belongs */
};

struct feeder;

/* prover: NULL for a file that is no image, whose chunks cannot be proved.  Prover and sink
 * are taken over, also on failure. */
int feeder_new(struct feeder **, uint32_t buffers, struct prover *, struct sink *,
    struct mailbox *, struct err *);
/* Where block b of a buffer belongs. */
uint8_t *feeder_buffer(struct feeder *, uint32_t buf);
/* What the sink says of itself. */
const struct sink_info *feeder_info(const struct feeder *);
/* True: this chunk need not be asked for (sink_has()).  Called before the first
 * feeder_put(). */
bool feeder_has(void *feeder, uint32_t chunk);
/* How many chunks there will be; before the first feeder_put().  Again, when that turns
 * out to be wrong and all that was put came back. */
void feeder_expect(struct feeder *, uint32_t nchunks);
/* A chunk is complete, perhaps with parity in the places of lost blocks (as
 * client_parity() has it, copied; NULL: none).  Never blocks. */
void feeder_put(struct feeder *, uint32_t chunk, uint32_t buf, uint32_t bytes,
    const uint8_t *parity_at);
/* The next chunk that is needed after all; false: no more for now. */
bool feeder_wants(struct feeder *, uint32_t *chunk);
/* sink_info.takes_parts: of the chunk in a buffer these blocks have come: what else is
 * needed?  FEEDER_PLANNED comes when that is known. */
void feeder_plan(struct feeder *, uint32_t buf, const struct blockmap *here);
/* After FEEDER_PLANNED: which blocks are needed, and whether that is final. */
const struct blockmap *feeder_planned(const struct feeder *, uint32_t buf, bool *final);
/* feeder_put() for a chunk that was planned, of which these blocks are here. */
void feeder_put_planned(struct feeder *, uint32_t chunk, uint32_t buf, uint32_t bytes,
    const struct blockmap *here);
/* After FEEDER_DAMAGED: the blocks of the chunk that are damaged. */
const struct blockmap *feeder_damaged(const struct feeder *, uint32_t buf);
/* After FEEDER_DAMAGED: why the chunk is taken for damaged, and its number. */
const struct err *feeder_damage(const struct feeder *, uint32_t buf, uint32_t *chunk);
/* No more chunks: end the sink and report through the mailbox. */
void feeder_end(struct feeder *);
/* Join the thread, and close the sink.  0 when all is where it belongs. */
int feeder_close(struct feeder *, struct sink_sum *, struct err *);

#endif /* FRISBEE_LOAD_FEEDER_H */
