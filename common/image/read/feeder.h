/* feeder.h: puts complete chunks into a sink: the stage behind whatever gets them from a
 * network.
 *
 * A thread of its own proves each chunk and puts it into the sink (sink.h), so the
 * network never waits for the disk.  Chunks are handed over in buffers, which have
 * numbers.  A mailbox tells by enum feeder_event what became of each buffer; it must have
 * room for `buffers` + FEEDER_EVENTS events.
 *
 * Each chunk of an image is proved before anything is done with it (prove.h); the sink
 * decodes what nothing else proves, if it can, while others are put.  A buffer
 * whose chunk is not proved comes back as damaged: some of the chunk's blocks should come
 * again, and when these do not become fewer all of them.  How often they are asked for
 * again is the caller's choice. Where the sink wants chunks in order, chunks behind a damaged one
 * wait in their buffers.
 *
 *	feeder_new()	opens the sink, and starts the thread
 *	feeder_expect()	how many chunks there are
 *	feeder_put()	a chunk; FEEDER_FREE or FEEDER_DAMAGED answers
 *	feeder_end()	all chunks were put, and none was damaged; FEEDER_DONE answers
 *	feeder_close()	how it ended; before FEEDER_DONE the target is given up
 *
 * All functions are called in one thread, the caller's.
 */
#ifndef COMMON_IMAGE_READ_FEEDER_H
#define COMMON_IMAGE_READ_FEEDER_H

#include "common/base/mailbox.h"
#include "common/image/format/opener.h"
#include "common/image/read/sink.h"
#include "common/wire/blockmap.h"

/* Events in the mailbox besides one for each buffer. */
enum { FEEDER_EVENTS = 4 };

enum feeder_event {
	FEEDER_FREE,    /* buffer n is not needed any more; its chunk was proved */
	FEEDER_DAMAGED, /* the chunk in buffer n: see feeder_back() */
	FEEDER_PLANNED, /* buffer n: see feeder_planned() */
	FEEDER_WANTS,   /* more chunks are needed: see feeder_wants(); this event comes in
	                 * front of that of the buffer whose chunk told of them */
	FEEDER_FAILED,  /* the last event: see feeder_close() */
	FEEDER_DONE,    /* the last event: all is where it belongs */
};

/* A chunk that is complete, as it came. */
struct feeder_chunk {
	uint32_t number, length; /* in bytes */
	/* Where it lies, if not in the feeder's memory: it is not changed there, and
	 * stays until the buffer comes back, or feeder_close(). */
	const void *lent;
	/* Which parity lies in the places of lost blocks (common/wire/parity.h); NULL:
	 * none.  It is copied, as `here` is. */
	const uint8_t *parity_at;
	/* It was planned, and these blocks of it have come; NULL: it is whole. */
	const struct blockmap *here;
};

/* A buffer that came back. */
struct feeder_back {
	struct feeder_chunk came; /* what was put */
	/* After FEEDER_DAMAGED: the blocks that are damaged, and why they are taken for
	 * it. */
	struct blockmap bad;
	struct err why;
};

struct feeder_config {
	uint32_t buffers; /* of 1 MiB, which is taken when they are used */
	struct mailbox *box; /* stays the caller's */
	/* What is demanded of chunks of an image (prove.h); NULL: of any file, so they
	 * cannot be proved. */
	const struct opener_config *keys;
	bool keep_encrypted;
	/* Opens the sink, in the thread that calls feeder_new(). */
	int (*open)(void *open_arg, struct sink *, struct err *);
	void *open_arg;
	/* For chunks that come in another form, without keys: proves what came, and
	 * unpacks it.  Returns in *bytes where the bytes are, in what came or in
	 * room[NDZ_CHUNK_BYTES], and in *length how many.  Errors as those of
	 * prover_chunk().  Called in the feeder's thread.  Or NULL. */
	int (*unpack)(void *unpack_arg, const struct feeder_chunk *, void *room,
	    const void **bytes, uint32_t *length, struct err *);
	void *unpack_arg;
};

struct feeder;

/* Opens the sink, and starts the thread.  ERR_NOMEM; errors of prove.h and open(), and
 * that of starting a thread. */
int feeder_new(struct feeder **, const struct feeder_config *, struct err *);
/* The memory of a buffer, NDZ_CHUNK_BYTES. */
uint8_t *feeder_buffer(struct feeder *, uint32_t buf);
/* What the sink says of itself (sink_info()). */
const struct sink_info *feeder_info(const struct feeder *);
/* True: this chunk need not be asked for (sink_has()).  Called before the first
 * feeder_put(). */
bool feeder_has(void *feeder, uint32_t chunk);
/* Tells the feeder, before the first feeder_put(), how many chunks the image has.  It is
 * called again when that number turns out to be wrong and all chunks that were put came
 * back. */
void feeder_expect(struct feeder *, uint32_t nchunks);
/* Hands over the chunk in a buffer.  Never blocks. */
void feeder_put(struct feeder *, uint32_t buf, const struct feeder_chunk *);
/* Takes a chunk that is needed after all.  False: there are no more for now. */
bool feeder_wants(struct feeder *, uint32_t *chunk);
/* For a sink with sink_info.takes_parts: asks which other blocks are needed of the chunk
 * in a buffer, of which the blocks `here` have come.  FEEDER_PLANNED comes when that is
 * known. */
void feeder_plan(struct feeder *, uint32_t buf, const struct blockmap *here);
/* After FEEDER_PLANNED: what is known of the chunk in this buffer. */
const struct sink_part *feeder_planned(const struct feeder *, uint32_t buf);
/* After FEEDER_FREE or FEEDER_DAMAGED of this buffer, until it is put again. */
const struct feeder_back *feeder_back(const struct feeder *, uint32_t buf);
/* Tells the feeder that no more chunks come: it ends the sink, and reports through the
 * mailbox. */
void feeder_end(struct feeder *);
/* Joins the thread, closes the sink, gives its sums (NULL: not wanted), and releases the
 * feeder.  0: everything is where it belongs; -1: the error says why not, ERR_CANCELLED
 * when the caller gave up. */
int feeder_close(struct feeder *, struct sink_sum *, struct err *);

#endif /* COMMON_IMAGE_READ_FEEDER_H */
