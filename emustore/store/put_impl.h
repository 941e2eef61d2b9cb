/* put_impl.h: what the parts of putting an image share. */
#ifndef EMUSTORE_STORE_PUT_IMPL_H
#define EMUSTORE_STORE_PUT_IMPL_H

#include <openssl/evp.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "emustore/store/prepare.h"
#include "emustore/store/put.h"
#include "emustore/store/rebuild.h"
#include "emustore/store/recipe.h"

struct ordered;
struct pipeline;
struct queue;
struct known_reader;

struct put {
	struct store *s;
	struct put_config cfg;
	struct recipe_image about;
	struct put_stats stats;
	EVP_MD_CTX *sha; /* of the whole image; of the thread that puts */
	struct prepare_shared shared;
	bool zones_known; /* those of `shared`, once the first chunk has come */
	struct rebuilder *rebuilder;
	uint8_t *again;        /* the chunk put together again */
	struct recipe_chunk c; /* the chunk at hand */
	struct recipe_chunk decoded;
	struct place *places;
	size_t places_cap;
	struct buf digests;       /* of all fragments, in their order */
	struct buf block, record; /* chunks not yet compressed; the recipe's blocks */
	uint32_t block_chunks;
	struct known_reader *readers; /* put_known.c's, that nobody has just now */
	/* Chunks on their way. */
	size_t jobs, n;
	struct prepared *all; /* n */
	struct prepared *filling; /* of them, what put_room() gave out; or NULL */
	struct queue *idle;
	struct ordered *work;
	struct pipeline *pipe;
	bool joined;    /* then rc, and why it is -1 */
	int rc;
	struct err why;
};

/* put_pieces.c: */
/* Into p->c and p->places; under the lock of p->shared. */
int put_use_pieces(struct put *, struct prepared *, struct err *);

/* put_describe.c: */
/* The rest of p->c, and the recipe to p->block. */
int put_describe(struct put *, const struct prepared *, struct err *);

/* put_known.c: */
void put_known_free(struct put *);

#endif /* EMUSTORE_STORE_PUT_IMPL_H */
