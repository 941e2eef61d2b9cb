/* feeder_impl.h: the parts of the feeder, which only they include.
 *
 * feeder.c the thread, and what the loop calls; feeder_prove.c whether a chunk is what the
 * server has; feeder_pass.c chunks that are proved, into the sink.
 */
#ifndef FRISBEE_LOAD_FEEDER_IMPL_H
#define FRISBEE_LOAD_FEEDER_IMPL_H

#include <pthread.h>

#include "common/base/queue.h"
#include "common/image/format/format.h"
#include "common/image/read/prove.h"
#include "frisbee/load/feeder.h"
#include "frisbee/load/planner.h"

struct filled {
	uint32_t chunk, bytes;
	bool parity;
	bool planned; /* compared before, and perhaps not all of it is here */
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
	/* For a sink in order: the chunks that wait for one that came damaged, by number
	 * modulo the buffers.  NULL: any order will do. */
	struct filled **waiting;
	uint32_t next;
	bool *damaged; /* by chunk: it came so before; NULL: not known */
	uint32_t nchunks;
	pthread_mutex_t lock; /* of these: */
	uint32_t *wants;      /* chunks that feeder_wants() has not given out */
	size_t nwants, wants_cap;
	bool told;      /* the loop was told that there are some, and has not taken all yet */
	bool wants_lost; /* there was no memory for one of them */
	_Atomic bool sink_failed; /* in a thread of its own */
	bool done;                /* the sink was ended; read after the join, as: */
	struct sink_sum sum;
	bool failed; /* with err */
	struct err err;
};

/* The thread's: */

/* The chunk in a buffer, as it is put. */
struct sink_chunk feeder_chunk(struct feeder *, struct filled *);
/* The chunk is what the server has, as far as anything can tell, and was decrypted; or it
 * is damaged in the blocks f->bad. */
int feeder_prove(struct feeder *, struct filled *, struct err *);
/* Send back a damaged chunk: its blocks are to come again.  -1: that would not help. */
int feeder_send_back(struct feeder *, struct filled *, struct err *);
/* Put a chunk that is proved into the sink. */
int feeder_pass_on(struct feeder *, struct filled *, struct err *);
/* The callbacks by which the sink tells what it finds out. */
struct sink_giver feeder_giver(struct feeder *);

#endif /* FRISBEE_LOAD_FEEDER_IMPL_H */
