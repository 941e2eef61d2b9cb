/* feeder_impl.h: what the two files of the feeder share; no other file includes it.
 *
 * feeder.c has the functions that the caller uses; feeder_thread.c is the thread, which
 * proves chunks and puts them into the sink.
 */
#ifndef COMMON_IMAGE_READ_FEEDER_IMPL_H
#define COMMON_IMAGE_READ_FEEDER_IMPL_H

#include <pthread.h>

#include "common/base/queue.h"
#include "common/image/format/format.h"
#include "common/image/read/feeder.h"
#include "common/image/read/planner.h"
#include "common/image/read/prove.h"

/* A buffer with a chunk that was handed over. */
struct filled {
	struct feeder *feeder;
	struct feeder_back back;
	uint8_t parity_at[WIRE_CHUNK_BLOCKS]; /* back.came leads to these two, or to NULL */
	struct blockmap here;
	struct proved *proved; /* while the sink decodes it, or is to; else NULL */
	/* It came; it waits until the sink can decode it; the sink decodes it. */
	enum { FILLED_CAME, FILLED_WAITS, FILLED_DECODES } how;
	bool undecodable; /* FILLED_DECODES: for the reason back.why */
};

struct feeder {
	struct feeder_config cfg;
	struct sink sink;
	struct sink_info info;
	struct queue *queue;   /* of &filled[buf] */
	struct filled *filled; /* by buffer */
	uint8_t *memory;       /* all buffers */
	pthread_t thread;
	bool started;
	struct planner *planner; /* or NULL */
	struct prover *prover;   /* the thread's; NULL: any file */
	/* For a sink that wants chunks in order: the chunks that wait for one that came
	 * damaged, by number modulo `buffers`.  NULL: the sink takes any order. */
	struct filled **waiting;
	uint32_t next; /* the chunk that such a sink takes next */
	/* By chunk: how many of its blocks were to come again last; 0: none; NULL: not known. */
	uint16_t *damaged;
	uint32_t nchunks;
	pthread_mutex_t lock; /* of wants, nwants, wants_cap and told */
	uint32_t *wants;      /* chunks that feeder_wants() has not given out */
	size_t nwants, wants_cap;
	bool told;      /* FEEDER_WANTS was sent, and the caller has not taken all yet */
	bool wants_lost; /* a chunk is missing in `wants`, because there was no memory */
	_Atomic bool sink_failed; /* a thread of the sink has failed */
	/* These are read after the thread was joined. */
	bool done; /* the sink was ended */
	struct sink_sum sum;
	bool failed; /* with err */
	struct err err;
};

/* The thread; its argument is the feeder. */
void *feeder_main(void *feeder);
/* The callbacks by which the sink tells what it finds out. */
struct sink_giver feeder_giver(struct feeder *);

#endif /* COMMON_IMAGE_READ_FEEDER_IMPL_H */
