/* rebuild.h: a chunk from its recipe and the packs. */
#ifndef EMUSTORE_STORE_REBUILD_H
#define EMUSTORE_STORE_REBUILD_H

#include <stdint.h>

#include "common/base/err.h"
#include "common/base/rd.h"
#include "emustore/store/packs.h"
#include "emustore/store/recipe.h"

/* Where a piece's bytes are.  Of a run of zeros: slot PLACE_ZEROS, at the raw bytes. */
struct place {
	uint64_t at;    /* of the fragment's record */
	uint32_t slot;  /* packs_slot() */
	uint32_t bytes; /* compressed */
};

/* PLACE_GIVEN: the data are at byte `at` of what rebuilder_give() got. */
enum { PLACE_ZEROS = (int)UINT32_MAX, PLACE_GIVEN = (int)(UINT32_MAX - 1) };

/* Belongs to one thread at a time; keeps memory between calls. */
struct rebuilder;

/* packs NULL: every piece is given, or zeros.  NULL: out of memory. */
struct rebuilder *rebuilder_new(struct packs *);
void rebuilder_free(struct rebuilder *);
/* Bytes that stay the caller's, for places in them, with the fragment table (NULL:
 * none) that has an entry for each piece. */
void rebuilder_give(
    struct rebuilder *, const uint8_t *bytes, const struct ext_fragment *table);
/* The SHA-256 of the fragments that the numbers of pieces mean: each is compared with its own from
 * now on.  The bytes stay the caller's. */
void rebuilder_prove(struct rebuilder *, struct rd digests);
/* The chunk into out[NDZ_CHUNK_BYTES]; one place for each of its pieces.  What comes
 * out has the checksum of the recipe, else ERR_FORMAT, and the sentence says which
 * fragment is damaged. */
int rebuild_chunk(struct rebuilder *, const struct recipe_chunk *, const struct place *,
    uint8_t *out, struct err *);
/* How many chunks the zlib at hand did not make as they were put: what came out
 * instead has the same data, for the same sectors. */
uint64_t rebuilder_equivalents(const struct rebuilder *);
/* The bytes of out up to the last one that is not zero. */
size_t chunk_used_bytes(const uint8_t *chunk);
/* What a table says of a piece, for ext_put_entry(): its compressed bytes, and of a fragment
 * its raw bytes, and its raw digest of RAW_DIGEST_BYTES.  In tables of windows a fragment has
 * one. */
struct ext_fragment rebuild_entry(const struct recipe_piece *, uint32_t bytes,
    uint32_t raw_bytes, const uint8_t *raw_digest);

#endif /* EMUSTORE_STORE_REBUILD_H */
