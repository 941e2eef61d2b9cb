/* index.h: what the objects of a store say, as an SQLite database: which fragments there
 * are, in which packs, and which images.  The index is a cache: all of it but the counts
 * of loads can be rebuilt from the objects, and it is not relied on where something would
 * be removed.
 *
 * Numbers of fragments, packs and images are those of one index; another index of the same
 * store has other numbers.
 *
 * An index belongs to one thread at a time.  Unless said otherwise, functions return 0, or
 * -1 with ERR_FORMAT (the index is damaged), ERR_IO, ERR_NOMEM or ERR_CANCELLED.
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

/* Open the index in file `path`, which is made if it does not exist; NULL: an index of
 * this process alone, which is gone when it is closed.  ERR_FORMAT: the file is damaged, or
 * no index that this program makes; it can be removed and rebuilt.  ERR_REFUSED: the file
 * is a link, or belongs to somebody else. */
int index_open(struct index **, const char *path, struct err *);
void index_close(struct index *); /* what is not committed is undone; NULL: nothing */
/* Did the index itself fail, so that another index may work? */
bool index_failed(const struct index *);
/* Begin a transaction: to write, or only to see one state of everything.  It ends with
 * index_commit() or index_rollback(). */
int index_begin(struct index *, bool writing, struct err *);
/* End a transaction, and keep what was written. */
int index_commit(struct index *, struct err *);
/* Undo a transaction. */
void index_rollback(struct index *);

/* A fragment, its number in the index, and the number of the pack from which it is read. */
struct index_fragment {
	uint64_t number;
	uint32_t pack;
	struct pack_fragment f;
};

/* Add a fragment; its number is chosen by the index. */
int index_add_fragment(struct index *, const struct index_fragment *, struct err *);
/* Find a fragment by its SHA-256.  1: found, and filled in; 0: not found; -1. */
int index_find_fragment(struct index *, const uint8_t sha256[SHA256_BYTES],
    struct index_fragment *, struct err *);
/* Is there a fragment whose data have this raw digest and length, whatever they are
 * compressed with?  1, 0, -1. */
int index_has_raw(struct index *, const struct fragment_head *, struct err *);
/* Find up to `most` fragments whose data have this raw digest and length, in packs that
 * are not condemned, and write them to out; *n: how many. */
int index_find_raw(struct index *, const uint8_t raw_digest[RAW_DIGEST_BYTES],
    uint64_t raw_bytes, struct index_fragment *out, size_t most, size_t *n, struct err *);
/* Call fn for each pack that has fragments, with their number n.  If fn does not return 0,
 * this ends, and its value is returned. */
int index_count_fragments(struct index *,
    int (*fn)(void *arg, uint32_t pack, uint64_t n, struct err *), void *arg,
    struct err *);
/* The highest number of a fragment; 0: there are none. */
int index_last_fragment(struct index *, uint64_t *number, struct err *);

/* A walk finds where fragments are, one after the other.  It is cheap where each fragment
 * is the one behind the last, as those of an image mostly are.  Only one walk at a time,
 * and nothing is written to the index before it has ended.  A place: the fragment's
 * number, the byte offset `at` of its record, the number of its pack, the length of its
 * data, and what a fragment table says of it. */
struct index_place {
	uint64_t number, at;
	uint32_t pack, bytes;
	struct fragment_raw raw;
};

struct index_walk {
	struct index *x;
	bool at_row; /* the statement of the walk is at a row */
};

/* Begin a walk over an index. */
struct index_walk index_walk_of(struct index *);
/* Find where the fragment with this SHA-256 is.  1: found, and the place is filled in; 0: not
 * found; -1. */
int index_walk_to(struct index_walk *, const uint8_t sha256[SHA256_BYTES],
    struct index_place *, struct err *);
/* End a walk; the index may be written again. */
void index_walk_end(struct index_walk *);

struct index_pack {
	uint32_t number; /* an index never uses a number twice */
	bool condemned;  /* nothing new may refer to this pack */
	char id[PACK_ID_CHARS + 1];
	uint64_t bytes;
};

/* Add a pack, with all fragments of its table, which is read to its end.  A fragment that
 * another pack has already is kept as a spare. */
int index_add_pack(struct index *, const char *id, struct toc *, struct err *);
/* Find a pack by its id.  1: found, and filled in; 0: not found; -1. */
int index_find_pack(struct index *, const char *id, struct index_pack *, struct err *);
/* Find a pack by its number.  digests: the SHA-256 of each of its blocks is appended;
 * NULL: not wanted.  1: found; 0: not found; -1. */
int index_get_pack(struct index *, uint32_t number, struct index_pack *,
    struct buf *digests, struct err *);
/* Call fn for each pack, in the order of their numbers.  If fn does not return 0, this
 * ends, and its value is returned. */
int index_each_pack(struct index *,
    int (*fn)(void *arg, const struct index_pack *, struct err *), void *arg,
    struct err *);
/* Mark a pack as condemned, or remove it.  Fragments stay as they are until
 * index_settle(). */
int index_condemn(struct index *, uint32_t pack, struct err *);
int index_drop_pack(struct index *, uint32_t pack, struct err *);
/* To be called after packs were added, condemned or dropped: fragments move to packs that
 * exist and are not condemned, where there are such packs; fragments that no pack has any
 * more are removed. */
int index_settle(struct index *, struct err *);

struct index_image {
	uint64_t number;
	char key[300], etag[80]; /* of the image's object */
	uint64_t bytes;          /* length of the object */
	struct recipe_image about; /* without labels, which only the object has */
};

/* Add an image; i->number is filled in. */
int index_add_image(struct index *, struct index_image *i, struct err *);
/* Find an image by its name and version (0: the latest), or by the key of its object.  1:
 * found, and filled in; 0: not found; -1. */
int index_find_image(
    struct index *, const struct store_name *, struct index_image *, struct err *);
int index_find_key(struct index *, const char *key, struct index_image *, struct err *);
/* Call fn for each image, ordered by name and version.  If fn does not return 0, this
 * ends, and its value is returned. */
int index_each_image(struct index *,
    int (*fn)(void *arg, const struct index_image *, struct err *), void *arg,
    struct err *);
/* Remove an image. */
int index_drop_image(struct index *, uint64_t number, struct err *);
/* Count the versions of a name. */
int index_count_versions(struct index *, const char *name, uint64_t *n, struct err *);

/* How often an image was loaded by whoever uses this index, and when for the last time, in
 * seconds since 1970.  The counts begin anew when the index is rebuilt. */
struct index_load {
	struct store_name name;
	uint64_t loads, loaded_at;
};

/* Count one more load of an image, at `now`.  *loads: how many there are with this one; 0:
 * they cannot be counted, since the index cannot be written now. */
void index_note_load(
    struct index *, const struct store_name *, uint64_t now, uint64_t *loads);
/* Call fn for the images that were loaded most often (last: most recently), at most
 * `most` of them.  If fn does not return 0, this ends, and its value is returned. */
int index_each_load(struct index *, bool last, uint64_t most,
    int (*fn)(void *arg, const struct index_load *, struct err *), void *arg,
    struct err *);

/* Which state of the store's objects the index has: the mark (changes.h) that was set with
 * index_set_mark(), in the same transaction as what it stands for.  index_get_mark() gives
 * an empty text where none was set. */
int index_get_mark(struct index *, char *mark, size_t cap, struct err *);
int index_set_mark(struct index *, const char *mark, struct err *);

/* How many rows were added, changed and removed since the index was opened. */
uint64_t index_changes(struct index *);
/* Is any pack condemned?  1, 0, -1. */
int index_any_condemned(struct index *, struct err *);
struct index_totals {
	uint64_t fragments, fragment_bytes, images, image_chunks, data_bytes, packs,
	    pack_bytes;
	uint64_t raw_unique; /* how many different raw digests there are */
};
/* How many packs there are, and how many bytes they have.  1; 0: the index is not in
 * order, or the records of the fragments that it has do not have as many bytes; -1. */
int index_room(struct index *, uint64_t *packs, uint64_t *bytes, struct err *);
/* Compute all sums, for which the whole index is read. */
int index_totals(struct index *, struct index_totals *, struct err *);

#endif /* EMUSTORE_STORE_INDEX_H */
