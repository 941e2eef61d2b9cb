/* placed.h: what is known of an image that is open: its recipe, and where its fragments are.
 * All its readers have it together. */
#ifndef EMUSTORE_STORE_PLACED_H
#define EMUSTORE_STORE_PLACED_H

#include <stdatomic.h>

#include "emustore/store/image_object.h"
#include "emustore/store/rebuild.h"

/* Nothing in it changes, so several threads may use it at once, each with a reader.  Only placed.c
 * writes it. */
struct placed {
	atomic_uint refs;
	struct recipe_image about;
	struct image_object object;
	uint64_t *block_at; /* byte of the object at which each block begins */
	size_t *first;      /* each chunk's first piece; chunks + 1 of them */
	uint32_t known;     /* chunks whose pieces are known */
	/* Of all pieces of all chunks; and whether is known what fragment tables say of them
	 * (store.parts). */
	struct spill places, raws;
	bool has_raws;
};

/* Look the fragments of an image of the index up, in one state of the index.  The slots of the
 * places are those of `packs`.  The store and the packs are needed only during the call.
 * ERR_FORMAT: the recipe is damaged, or a fragment is not in the store; ERR_IO with ENOENT: its
 * object, or a pack, is gone. */
int placed_new(struct placed **, struct store *, struct packs *, const struct index_image *,
    struct err *);
/* Find where fragment `number` of a recipe is, which has this digest.  ERR_FORMAT: it is not in
 * the store. */
int placed_find(struct index_walk *, const uint8_t digest[SHA256_BYTES], uint64_t number,
    struct index_place *, struct err *);
/* One more holder; the last placed_release() frees it.  NULL: nothing. */
struct placed *placed_hold(struct placed *);
void placed_release(struct placed *);

/* A reader of a placed image; belongs to one thread at a time.  All zeros but for `of`, which it
 * does not hold: it has read nothing. */
struct placed_reader {
	const struct placed *of;
	struct spill_view blocks, digest, places, raws;
	/* The block that was used last, unpacked, and where its chunks begin in it. */
	bool has_block;
	uint32_t block;
	struct buf plain;
	size_t chunk_at[RECIPE_BLOCK_CHUNKS];
	struct recipe_chunk c;
	struct buf digests; /* of the pieces of c */
};

/* Free what the reader has. */
void placed_reader_free(struct placed_reader *);
/* The places of the pieces of chunk i, *n of them; valid until the next call with this reader.
 * NULL: ERR_NOMEM, ERR_IO. */
const struct place *placed_places(
    struct placed_reader *, uint32_t i, size_t *n, struct err *);
/* Read the recipe of chunk i into r->c, and *facts, which is valid until the next call with this
 * reader; digests: also those of its fragments.  ERR_FORMAT: the recipe is damaged. */
int placed_chunk(struct placed_reader *, uint32_t i, bool digests,
    struct rebuild_facts *facts, struct err *);

#endif /* EMUSTORE_STORE_PLACED_H */
