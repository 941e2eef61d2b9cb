/* feeder_impl.h: what the three files of the feeder share; no other file includes it.
 *
 * feeder.c has the thread and the functions that the loop calls; feeder_prove.c finds out
 * whether a chunk is what the server has; feeder_pass.c puts proved chunks into the sink.
 */
#ifndef FRISBEE_LOAD_FEEDER_IMPL_H
#define FRISBEE_LOAD_FEEDER_IMPL_H

#include <pthread.h>

#include "common/base/queue.h"
#include "common/image/format/format.h"
#include "common/image/read/prove.h"
#include "frisbee/load/feeder.h"
#include "frisbee/load/planner.h"

/* A buffer with a chunk that the loop has handed over. */
struct filled {
	uint32_t chunk, bytes;
	bool parity;
	bool planned; /* the chunk was compared before; perhaps not all of its blocks are here */
	uint8_t parity_at[WIRE_CHUNK_BLOCKS];
	struct blockmap here; /* when planned: the blocks that are here */
	struct blockmap bad;  /* damaged blocks */
	struct err why;       /* why they are taken for damaged */
};

struct feeder {
	uint32_t buffers;
	struct sink sink;
	struct sink_info info;
	struct mailbox *box;
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
	bool *damaged; /* by chunk: it came damaged before; NULL: not known */
	uint32_t nchunks;
	pthread_mutex_t lock; /* of wants, nwants, wants_cap and told */
	uint32_t *wants;      /* chunks that feeder_wants() has not given out */
	size_t nwants, wants_cap;
	bool told;      /* FEEDER_WANTS was sent, and the loop has not taken all yet */
	bool wants_lost; /* a chunk is missing in `wants`, because there was no memory */
	_Atomic bool sink_failed; /* a thread of the sink has failed */
	/* These are read after the thread was joined. */
	bool done; /* the sink was ended */
	struct sink_sum sum;
	bool failed; /* with err */
	struct err err;
};

/* These functions are called in the feeder's thread. */

/* The chunk in a buffer, as sink_put() takes it. */
struct sink_chunk feeder_chunk(struct feeder *, struct filled *);
/* Decrypts the chunk, and proves that it is what the server has, as far as anything can tell. 
 * -1: the chunk is damaged in the blocks f->bad. */
int feeder_prove(struct feeder *, struct filled *, struct err *);
/* Sends back a damaged chunk, whose blocks are to come again.  -1: that would not help. */
int feeder_send_back(struct feeder *, struct filled *, struct err *);
/* Puts a chunk that is proved into the sink.  Errors are those of sink_put(), and ERR_NOMEM. */
int feeder_pass_on(struct feeder *, struct filled *, struct err *);
/* The callbacks by which the sink tells what it finds out. */
struct sink_giver feeder_giver(struct feeder *);

#endif /* FRISBEE_LOAD_FEEDER_IMPL_H */
