/* prepare.h: finds out what a chunk consists of, apart from writing it to the store:
 * several threads do this at the same time, before one thread writes. */
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
	PREPARED_FRAGMENTS,  /* the chunk has a fragment table */
	PREPARED_REDEFLATED, /* the stream can be redeflated from its data */
	PREPARED_WHOLE,      /* the stream is one piece */
	PREPARED_ENCRYPTED,  /* all bytes behind the header are one piece */
};

struct prepared_piece {
	struct recipe_piece zero; /* .zero: a run of zeros; else the fragment f */
	struct pack_fragment f;        /* all except where it is */
	bool known;               /* the store has the fragment */
	bool same_data; /* it does not, but others with the same data */
	size_t data_at; /* byte offset in the chunk; PREPARED_REDEFLATED: in spare */
	uint32_t adler;
};

struct prepared {
	uint8_t *bytes; /* the chunk */
	struct chunk c; /* valid when rc is 0 */
	enum prepared_kind kind;
	uint32_t stream_bytes; /* bytes behind the header that the pieces describe */
	size_t npieces, cap;
	struct prepared_piece *pieces;
	struct buf spare; /* fragments that prepare.c compressed */
	/* Only of PREPARED_REDEFLATED: how its stream is made.  adler is that of the data
	 * (also of PREPARED_FRAGMENTS). */
	struct redeflate_how how;
	uint32_t adler;
	int rc;
	struct err err;
};

/* Free what prepare_chunk() allocated, and p->bytes. */
void prepared_free(struct prepared *);

/* What the worker threads share.  The lock is held by every thread that asks the store's
 * index, or changes what this put has added. */
struct prepare_shared {
	pthread_mutex_t lock;
	struct store *s;
	bool exact;
	int level; /* at which windows are compressed here */
	/* The zones of the image, as far as its first chunk tells them; complete before
	 * any chunk is prepared. */
	struct cut_zones zones;
};

/* Find the zones of an image of another program, given its chunk 0 of NDZ_CHUNK_BYTES.  If
 * the chunk cannot be read, there are no zones, and prepare_chunk() reports the failure.
 * ERR_NOMEM. */
int prepare_zones(struct prepare_shared *, const void *chunk, struct err *);

/* The working memory of one thread. */
struct preparer;

struct preparer *preparer_new(struct prepare_shared *); /* NULL: out of memory */
void preparer_free(struct preparer *);
/* Check the chunk in p->bytes (NDZ_CHUNK_BYTES), and fill in all other members of *p.
 * Failures are in p->rc and p->err. */
void prepare_chunk(struct preparer *, struct prepared *p);

#endif /* EMUSTORE_STORE_PREPARE_H */
