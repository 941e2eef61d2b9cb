/* prepare.h: what a chunk consists of, found out apart from the store: by many threads
 * at the same time, before one of them writes. */
#ifndef EMUSTORE_STORE_PREPARE_H
#define EMUSTORE_STORE_PREPARE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/image/format/cut.h"
#include "common/image/read/chunk.h"
#include "emustore/store/recipe.h"
#include "emustore/store/store.h"

enum prepared_kind {
	PREPARED_FRAGMENTS, /* it has a fragment table */
	PREPARED_MADE,      /* its stream can be made again from its data */
	PREPARED_WHOLE,     /* its stream is one piece */
	PREPARED_ENCRYPTED, /* all behind its header is */
};

struct prepared_piece {
	struct recipe_piece zero; /* .zero: a run of them; else the fragment below */
	struct pack_fragment f;        /* all but its place */
	bool known;               /* the store has it */
	size_t data_at; /* in the chunk, or in spare */
	uint32_t adler;
};

struct prepared {
	uint8_t *bytes; /* the chunk */
	struct chunk c; /* when rc is 0 */
	enum prepared_kind kind;
	uint32_t stream_bytes; /* that its pieces describe */
	size_t npieces, cap;
	struct prepared_piece *pieces;
	struct buf spare; /* fragments that were compressed here */
	/* Of a chunk that is made again. */
	struct remake_how how;
	uint32_t adler;
	int rc;
	struct err err;
};

void prepared_free(struct prepared *);

/* What all threads ask.  Whoever asks the store's index, or changes what this put has
 * added, holds the lock. */
struct prepare_shared {
	pthread_mutex_t lock;
	struct store *s;
	bool exact;
	/* Of the image, as far as its first chunk tells; complete before any chunk is
	 * prepared. */
	struct cut_zones zones;
};

/* Find the zones of an image of another program, whose chunk 0 this is.  Where that cannot be
 * read, which preparing it will tell, there are none.  ERR_NOMEM. */
int prepare_zones(struct prepare_shared *, const void *chunk, struct err *);

/* Of one thread. */
struct preparer;

struct preparer *preparer_new(struct prepare_shared *); /* NULL: out of memory */
void preparer_free(struct preparer *);
/* p->bytes is there; everything else is found out.  Failures are in p->rc, p->err. */
void prepare_chunk(struct preparer *, struct prepared *p);

#endif /* EMUSTORE_STORE_PREPARE_H */
