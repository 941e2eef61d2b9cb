/* random_impl.h: an image that is read anywhere: for random.c, which gives out its data,
 * random_chunk.c, which knows what its chunks say, and random_piece.c, which decodes. */
#ifndef COMMON_IMAGE_READ_RANDOM_IMPL_H
#define COMMON_IMAGE_READ_RANDOM_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "common/base/stock.h"
#include "common/image/read/fragments.h"
#include "common/image/read/layers.h"
#include "common/image/read/random.h"
#include "common/image/read/sectors_impl.h"

/* What a thread decodes with. */
struct random_work {
	struct random_work *next; /* the next one that is idle */
	struct decoder *dec;
	uint8_t *bytes; /* room for a chunk, or some of its blocks in their places */
};

struct random {
	struct sectors **images; /* a base and its deltas; or one image */
	size_t nimages;
	struct layers *layers; /* of these images */
	struct stock *stock;   /* of chunks and pieces */
	uint64_t stream_bytes; /* most that is kept of one decoding of a whole stream */
	pthread_mutex_t lock;  /* of `idle` */
	struct random_work *idle;
	_Atomic uint64_t opened; /* chunks, so far */
	_Atomic uint64_t hits, misses, decoded;
};

/* What a chunk says. */
struct random_chunk {
	struct sectors *image; /* the image that the chunk belongs to */
	uint32_t number;
	uint64_t opening; /* random.opened when it was opened; its pieces' keys have it */
	struct chunk c;
	struct fragments *fragments; /* all, of a chunk that has a table; else NULL */
	uint8_t *bytes;              /* all of the chunk; NULL: only blocks of it are read */
	pthread_mutex_t decoding;    /* its stream, when it has no table */
};

/* The data of a fragment, or, in a chunk without a table, of a part of its stream. */
struct random_piece {
	struct random_piece *next; /* the next one that is not in the stock yet */
	uint64_t at, bytes;        /* in the chunk's data */
	bool zero;                 /* all of it is zero: there is no data */
	uint8_t data[];
};

/* Get what one thread decodes with, until random_work_put(); NULL: ERR_NOMEM. */
struct random_work *random_work_get(struct random *, struct err *);
void random_work_put(struct random *, struct random_work *);

/* Get what chunk i of an image says, a struct random_chunk, in use until stock_put_back().
 * NULL: the chunk cannot be read; the error names it. */
struct stock_item *random_chunk_get(
    struct random *, size_t image, uint32_t i, struct err *);
/* Get the struct random_piece that has byte `at` of a chunk's data, in use until
 * stock_put_back().  NULL: it cannot be read; the error says why. */
struct stock_item *random_piece_get(
    struct random *, struct random_chunk *, uint64_t at, struct err *);

#endif /* COMMON_IMAGE_READ_RANDOM_IMPL_H */
