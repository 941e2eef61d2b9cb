/* sink_impl.h: the parts of the sink, which only they include.
 *
 * sink.c the thread, and what the loop calls; sink_open.c the target; sink_prove.c whether
 * a chunk is what the server has; sink_kind.c whether all are of one image; sink_pass.c
 * where chunks go that are proved.
 */
#ifndef FRISBEE_LOAD_SINK_IMPL_H
#define FRISBEE_LOAD_SINK_IMPL_H

#include <pthread.h>

#include "common/base/queue.h"
#include "common/disk/disk.h"
#include "common/image/read/chunk.h"
#include "common/image/read/image.h"
#include "common/image/read/partial.h"
#include "frisbee/load/planner.h"
#include "frisbee/load/sink.h"

struct filled {
	uint32_t chunk, bytes;
	bool parity;
	bool planned, partial; /* compared before; not all of it is here */
	uint8_t parity_at[WIRE_CHUNK_BLOCKS];
	struct blockmap bad; /* damaged blocks, */
	struct err why;      /* ... as this says */
};

/* What the first chunk that was accepted is. */
struct sink_kind {
	struct image_identity id;
	bool encrypted, is_signed;
};

struct sink {
	struct sink_config cfg;
	struct mailbox *box;
	struct queue *queue;   /* of &filled[buf] */
	struct filled *filled; /* by buffer */
	struct filled **held;  /* chunks that wait for chunk 0; the thread's */
	uint32_t nheld;
	uint8_t *memory; /* all buffers */
	pthread_t thread;
	bool started;
	struct install *install; /* NULL with -N, and as_image */
	struct planner *planner; /* or NULL */
	struct rehearsal *rehearsal; /* instead, or NULL */
	struct proof *proof;     /* or NULL; the thread's */
	struct disk *file;       /* -N, as_image */
	uint64_t file_bytes;
	bool removable; /* when it does not get whole */
	/* In order: chunks that wait for this one, which came damaged, by number modulo
	 * the buffers.  NULL: in any order. */
	struct filled **waiting;
	uint32_t next;
	bool *damaged;  /* by chunk: it came so before; NULL: not known */
	uint32_t nchunks;
	struct sink_kind kind;        /* the thread's, */
	struct decoder *decoder; /* ... for chunks without a digest; NULL: none came */
	bool only;            /* some partitions are installed, not all */
	bool searching;       /* install_only_source() was told so */
	pthread_mutex_t lock; /* of these: */
	uint32_t *wants;      /* chunks that sink_wants() has not given out */
	size_t nwants, wants_cap;
	bool told; /* that there are some, and it has not taken all yet */
	struct install_stats stats;
	bool failed; /* with err; read after the join */
	struct err err;
};

/* Is it an image, not any file (-N)? */
static inline bool
sink_is_image(const struct sink *s)
{
	return !s->cfg.any_file;
}

/* The target and whatever writes to it, or the rehearsal. */
int sink_open_target(struct sink *, struct err *);

/* The thread's: */

/* Chunk `number`, decrypted, is where it belongs, and of the image and the kind that the
 * first one was that this accepted: encrypted, signed or not. */
int sink_kind_check(struct sink_kind *, uint32_t number, const struct chunk *,
    bool encrypted, struct err *);
/* The chunk is what the server has, as far as anything can tell, and was decrypted; or it
 * is damaged in the blocks f->bad. */
int sink_prove(struct sink *, struct filled *, struct err *);
/* One that is not, and why: its blocks are to come again.  -1: that would not help. */
int sink_send_back(struct sink *, struct filled *, struct err *);
/* --dry-run: what can be said of the target by a chunk that is proved. */
int sink_rehearse(struct sink *, const struct filled *, struct err *);
/* --only: which chunks does this one lead to? */
int sink_learn(struct sink *, const struct filled *, struct err *);
/* A chunk that is proved, to where it belongs, when chunk 0 has said that it may. */
int sink_pass_on(struct sink *, struct filled *, struct err *);
/* That was the last one. */
int sink_complete(struct sink *, struct err *);

#endif /* FRISBEE_LOAD_SINK_IMPL_H */
