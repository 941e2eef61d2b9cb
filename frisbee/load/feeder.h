/* feeder.h: puts complete chunks into a sink: the stage behind the client's engine.
 *
 * Chunk buffers are handed over by number; a thread of its own proves them and puts
 * them into the sink (common/image/read/sink.h), so the network never waits for the
 * disk.  The mailbox tells by enum feeder_event what became of each buffer; it must have
 * room for `buffers` + FEEDER_EVENTS events.
 *
 * Each chunk of an image is proved before anything is done with it (prove.h).  A buffer
 * whose chunk is not proved comes back as damaged: some of the chunk's blocks should come
 * again, and after a second failure all of them.  How often they are asked for again is the
 * caller's choice.  Where the sink wants chunks in order, chunks behind a damaged one wait in
 * their buffers.
 */
#ifndef FRISBEE_LOAD_FEEDER_H
#define FRISBEE_LOAD_FEEDER_H

#include "common/base/mailbox.h"
#include "common/image/read/prove.h"
#include "common/image/read/sink.h"
#include "common/wire/blockmap.h"

/* Events in the mailbox besides one for each buffer. */
enum { FEEDER_EVENTS = 4 };

enum feeder_event {
	FEEDER_FREE,    /* buffer n is not needed any more */
	FEEDER_DAMAGED, /* the chunk in buffer n: see feeder_damaged() */
	FEEDER_PLANNED, /* buffer n: see feeder_planned() */
	FEEDER_WANTS,   /* more chunks are needed: see feeder_wants(); this event comes in
	                 * front of that of the buffer whose chunk told of them */
	FEEDER_FAILED,  /* the last event: see feeder_close() */
	FEEDER_DONE,    /* the last event: all is where it belongs */
};

struct feeder;

/* Makes a feeder with this number of chunk buffers, and starts its thread.  prover: NULL for a
 * file that is no image, whose chunks cannot be proved.  Prover and sink are taken over, also
 * on failure; the mailbox stays the caller's.  ERR_NOMEM, or the error of starting a thread. */
int feeder_new(struct feeder **, uint32_t buffers, struct prover *, struct sink *,
    struct mailbox *, struct err *);
/* The memory of a buffer, NDZ_CHUNK_BYTES. */
uint8_t *feeder_buffer(struct feeder *, uint32_t buf);
/* What the sink says of itself (sink_info()). */
const struct sink_info *feeder_info(const struct feeder *);
/* True: this chunk need not be asked for (sink_has()).  Called before the first
 * feeder_put(). */
bool feeder_has(void *feeder, uint32_t chunk);
/* Tells the feeder, before the first feeder_put(), how many chunks the image has.  It is called
 * again when that number turns out to be wrong and all chunks that were put came back. */
void feeder_expect(struct feeder *, uint32_t nchunks);
/* Hands over a chunk that is complete, with this number of bytes.  parity_at: which parity
 * lies in the places of lost blocks, as client_parity() has it; it is copied; NULL: there is
 * none.  Never blocks. */
void feeder_put(struct feeder *, uint32_t chunk, uint32_t buf, uint32_t bytes,
    const uint8_t *parity_at);
/* Takes a chunk that is needed after all.  False: there are no more for now. */
bool feeder_wants(struct feeder *, uint32_t *chunk);
/* For a sink with sink_info.takes_parts: asks which other blocks are needed of the chunk in a
 * buffer, of which the blocks `here` have come.  FEEDER_PLANNED comes when that is known. */
void feeder_plan(struct feeder *, uint32_t buf, const struct blockmap *here);
/* After FEEDER_PLANNED: returns the blocks that are needed; *final: no others will be needed. */
const struct blockmap *feeder_planned(const struct feeder *, uint32_t buf, bool *final);
/* feeder_put() for a chunk that was planned, of which the blocks `here` have come. */
void feeder_put_planned(struct feeder *, uint32_t chunk, uint32_t buf, uint32_t bytes,
    const struct blockmap *here);
/* After FEEDER_DAMAGED: the blocks of the chunk that are damaged. */
const struct blockmap *feeder_damaged(const struct feeder *, uint32_t buf);
/* After FEEDER_DAMAGED: why the chunk is taken for damaged, and its number. */
const struct err *feeder_damage(const struct feeder *, uint32_t buf, uint32_t *chunk);
/* Tells the feeder that no more chunks come: it ends the sink, and reports through the
 * mailbox. */
void feeder_end(struct feeder *);
/* Joins the thread, closes the sink, gives its sums (NULL: not wanted), and releases the
 * feeder.  0: everything is where it belongs; -1: the error says why not, ERR_CANCELLED when
 * the caller gave up. */
int feeder_close(struct feeder *, struct sink_sum *, struct err *);

#endif /* FRISBEE_LOAD_FEEDER_H */
