/* rebuild.h: puts a chunk together from its recipe and the packs. */
#ifndef EMUSTORE_STORE_REBUILD_H
#define EMUSTORE_STORE_REBUILD_H

#include <stdint.h>

#include "common/base/err.h"
#include "emustore/store/packs.h"
#include "emustore/store/recipe.h"

/* Where the bytes of a piece are.  A run of zeros has the slot PLACE_ZEROS, and its raw
 * bytes in `at`. */
struct place {
	uint64_t at;    /* byte offset of the fragment's record in its pack */
	uint32_t slot;  /* the pack, by packs_slot() */
	uint32_t bytes; /* compressed bytes */
};

/* PLACE_GIVEN: the data are at byte `at` of the bytes that rebuilder_give() was given. */
enum { PLACE_ZEROS = (int)UINT32_MAX, PLACE_GIVEN = (int)(UINT32_MAX - 1) };

/* Belongs to one thread at a time; keeps memory between calls. */
struct rebuilder;

/* packs (borrowed until rebuilder_free()) is where fragments are read; NULL: every piece
 * is PLACE_GIVEN or PLACE_ZEROS.  Returns NULL when out of memory. */
struct rebuilder *rebuilder_new(struct packs *);
/* Free it; the packs stay the caller's.  NULL is allowed. */
void rebuilder_free(struct rebuilder *);
/* Set the bytes for PLACE_GIVEN, and the fragment table that has an entry for each piece
 * (NULL: there is none).  Both stay the caller's. */
void rebuilder_give(
    struct rebuilder *, const uint8_t *bytes, const struct ext_fragment *table);
/* What is known of the pieces of a chunk: one of each for each piece. */
struct rebuild_facts {
	const struct place *places;
	/* What the fragment table says of them; NULL where no part behind the header area is
	 * asked for. */
	const struct fragment_raw *raws;
	/* SHA256_BYTES of each: fragments that are read whole are compared with them; NULL: they
	 * are not. */
	const uint8_t *digests;
};

/* Put the chunk together in out[NDZ_CHUNK_BYTES].  The result has the checksum of the recipe,
 * else ERR_FORMAT, and the sentence says which fragment is damaged.  A stream that is
 * redeflated may be an equivalent: rebuilder_equivalents() counts them. */
int rebuild_chunk(struct rebuilder *, const struct recipe_chunk *,
    const struct rebuild_facts *, uint8_t *out, struct err *);
/* Put n bytes from byte `at` of the chunk into out.  Of the packs, only those bytes are read,
 * with one call for fragments that lie one behind the other.  A fragment of which all bytes
 * are asked for is compared with the checksum of its record, too.  ERR_FORMAT: damaged, or the
 * stream is redeflated. */
int rebuild_part(struct rebuilder *, const struct recipe_chunk *, const struct rebuild_facts *,
    size_t at, size_t n, void *out, struct err *);
/* How many chunks the zlib at hand did not make as they were put: each was replaced by an
 * equivalent chunk, which has the same data for the same sectors. */
uint64_t rebuilder_equivalents(const struct rebuilder *);
/* The entry of the fragment table for a piece, for ext_put_entry().  bytes: compressed;
 * raw_bytes and raw_digest (of RAW_DIGEST_BYTES) are used only for a fragment.  In tables
 * that count windows, a fragment has one window. */
struct ext_fragment rebuild_entry(const struct recipe_piece *, uint32_t bytes,
    uint32_t raw_bytes, const uint8_t *raw_digest);

#endif /* EMUSTORE_STORE_REBUILD_H */
