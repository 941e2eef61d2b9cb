/* index.h: what the objects of a store say, as an SQLite database: which fragments there are,
 * in which packs, and which images.  It is a cache: all of it can be made again from the
 * objects, and nothing of it is believed where something would be taken away.
 *
 * Numbers are the index's own; nobody else knows them, and another index has others.
 */
#ifndef EMUSTORE_STORE_INDEX_H
#define EMUSTORE_STORE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "emustore/store/recipe.h"
#include "emustore/store/toc.h"

struct index;

/* path: made when it is not there; NULL: for this process alone, gone when it is closed.
 * log: SQLite's write-ahead log, for which all who use it must be of one machine.
 * ERR_FORMAT: what is there is damaged, or no index that this program makes: it can be
 * removed, and made again.  ERR_REFUSED: it is a link, or somebody else's. */
int index_open(struct index **, const char *path, bool log, struct err *);
void index_close(struct index *); /* what is not committed is undone */
/* Was an error the index's own, which another index may not have? */
bool index_failed(const struct index *);
/* To write, or only to see one state of all things. */
int index_begin(struct index *, bool writing, struct err *);
int index_commit(struct index *, struct err *);
void index_rollback(struct index *);

struct index_fragment {
	uint64_t number;
	uint32_t pack;
	struct pack_fragment f;
};

int index_add_fragment(struct index *, const struct index_fragment *, struct err *);
/* 1 found, 0 not, -1. */
int index_find_fragment(struct index *, const uint8_t sha256[SHA256_BYTES],
    struct index_fragment *, struct err *);
/* Is there one whose data has this raw digest and length, whatever it is compressed with?
 * 1, 0, -1. */
int index_has_raw(struct index *, const struct fragment_head *, struct err *);
/* Up to `most` of those, in packs that are not condemned, into out; *n: how many. */
int index_find_raw(struct index *, const uint8_t raw_digest[RAW_DIGEST_BYTES],
    uint64_t raw_bytes, struct index_fragment *out, size_t most, size_t *n, struct err *);
/* How many there are in each pack that has any. */
int index_count_fragments(struct index *,
    int (*fn)(void *arg, uint32_t pack, uint64_t n, struct err *), void *arg,
    struct err *);
/* No fragment has a higher number. */
int index_last_fragment(struct index *, uint64_t *number, struct err *);

/* Where fragments are, looked for one after the other: cheap where each is the one behind
 * the one before, as those of an image mostly are.  One walk at a time, and nothing is
 * written before it has ended. */
struct index_place {
	uint64_t number, at;
	uint32_t pack, bytes;
};

struct index_walk {
	struct index *x;
	bool at_row; /* of the statement of the walk */
};

struct index_walk index_walk_of(struct index *);
/* 1 found, 0 not, -1. */
int index_walk_to(struct index_walk *, const uint8_t sha256[SHA256_BYTES],
    struct index_place *, struct err *);
void index_walk_end(struct index_walk *);

struct index_pack {
	uint32_t number; /* never given twice by one index */
	bool condemned;  /* nothing new may refer to it */
	char id[PACK_ID_CHARS + 1];
	uint64_t bytes;
};

/* A pack, with all that its table says.  A fragment that another pack has, too, is kept
 * as a spare. */
int index_add_pack(struct index *, const char *id, struct toc *, struct err *);
/* 1, 0, -1. */
int index_find_pack(struct index *, const char *id, struct index_pack *, struct err *);
/* digests (NULL: not wanted) of its blocks, behind what is there. */
int index_get_pack(struct index *, uint32_t number, struct index_pack *,
    struct buf *digests, struct err *);
/* In the order of their numbers. */
int index_each_pack(struct index *,
    int (*fn)(void *arg, const struct index_pack *, struct err *), void *arg,
    struct err *);
int index_condemn(struct index *, uint32_t pack, struct err *);
int index_drop_pack(struct index *, uint32_t pack, struct err *);
/* After some of these: fragments move to packs that are there and not condemned, if
 * there are such; those that no pack has any more go. */
int index_settle(struct index *, struct err *);

struct index_image {
	uint64_t number;
	char key[300], etag[80]; /* of its object */
	uint64_t bytes;          /* of the object */
	struct recipe_image about; /* without labels: the object has them */
};

/* i->number is filled in. */
int index_add_image(struct index *, struct index_image *i, struct err *);
/* name->version 0: the latest.  1, 0, -1. */
int index_find_image(
    struct index *, const struct store_name *, struct index_image *, struct err *);
int index_find_key(struct index *, const char *key, struct index_image *, struct err *);
/* All images by name and version. */
int index_each_image(struct index *,
    int (*fn)(void *arg, const struct index_image *, struct err *), void *arg,
    struct err *);
int index_drop_image(struct index *, uint64_t number, struct err *);
/* How many versions of a name there are. */
int index_count_versions(struct index *, const char *name, uint64_t *n, struct err *);

/* How many packs, condemned ones among them, and images. */
int index_counts(struct index *, uint64_t *packs, uint64_t *condemned,
    uint64_t *images, struct err *);
struct index_totals {
	uint64_t fragments, fragment_bytes, images, image_chunks, data_bytes, packs,
	    pack_bytes;
	uint64_t raw_unique; /* different raw digests */
};
/* Reads the whole index. */
int index_totals(struct index *, struct index_totals *, struct err *);

#endif /* EMUSTORE_STORE_INDEX_H */
