/* put_impl.h: what the files that put an image share. */
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
	EVP_MD_CTX *sha; /* SHA-256 of the whole image; used by the thread that puts */
	struct prepare_shared shared;
	bool zones_known; /* the zones of `shared` are known: the first chunk has come */
	struct rebuilder *rebuilder;
	uint8_t *again;        /* the chunk that its recipe yields; NDZ_CHUNK_BYTES */
	struct recipe_chunk c; /* the chunk that is being written */
	struct recipe_chunk decoded;
	struct place *places;
	size_t places_cap;
	struct buf digests;       /* SHA-256 of all fragments, in the order of the recipe */
	/* block: recipes of chunks, not compressed yet; record: the finished blocks of the
	 * recipe */
	struct buf block, record;
	uint32_t block_chunks;
	struct known_reader *readers; /* readers of put_known.c that no thread uses now */
	/* Chunks on their way: `n` in all, for `jobs` workers. */
	size_t jobs, n;
	struct prepared *all; /* n */
	struct prepared *filling; /* the one of `all` that put_room() gave out; or NULL */
	struct queue *idle;
	struct ordered *work;
	struct pipeline *pipe;
	bool joined;    /* the threads have ended: rc is their result, and `why` its error */
	int rc;
	struct err why;
};

/* put_pieces.c: */
/* Add the pieces of a chunk to p->c and p->places, and those that the store lacks to its
 * packs.  The caller holds the lock of p->shared. */
int put_use_pieces(struct put *, struct prepared *, struct err *);

/* put_describe.c: */
/* Fill in the rest of p->c, append the recipe of the chunk to p->block, and try it.
 * ERR_FORMAT: the store would not return what was put. */
int put_describe(struct put *, const struct prepared *, struct err *);

/* put_level.c: the level at which deflate made the fragments of the newest version of the image;
 * if there is none, or it cannot be told, the level that is usual. */
int put_find_level(struct store *, const char *name);

/* put_known.c: frees the readers; no thread uses one any more. */
void put_known_free(struct put *);

#endif /* EMUSTORE_STORE_PUT_IMPL_H */
