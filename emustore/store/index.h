/* index.h: where everything is: an SQLite database that can be made again from the
 * packs.  One writer at a time; readers go on meanwhile, with what was last committed.
 */
#ifndef EMUSTORE_STORE_INDEX_H
#define EMUSTORE_STORE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "emustore/store/recipe.h"
#include "emustore/store/record.h"

struct index;

enum index_access {
	INDEX_READ,  /* also by who may not write to it, or has no room to */
	INDEX_WRITE, /* the lock that keeps other writers away is held */
	INDEX_CREATE /* it is not there yet */
};
/* ERR_UNSUPPORTED: of a newer version.  ERR_FORMAT: damaged, or no index of a store.
 * ERR_REFUSED: it is no file of the store's own, or what a writer has left cannot be
 * read.  path ":memory:" (INDEX_CREATE): in memory. */
int index_open(struct index **, const char *path, enum index_access, struct err *);
void index_close(struct index *); /* what is not committed is undone */
/* A writer begins, and commits or closes.  A reader may begin, too, to see one state
 * of all things. */
int index_begin(struct index *, bool writing, struct err *);
int index_commit(struct index *, struct err *);
void index_rollback(struct index *);
/* SQLite's own check of the file.  ERR_FORMAT. */
int index_check(struct index *, struct err *);

/* Numbers that are handed out, and never again. */
enum index_next { INDEX_NEXT_FRAGMENT, INDEX_NEXT_IMAGE, INDEX_NEXT_PACK };
/* ERR_FORMAT: it would not be behind all that there are, so the index is damaged. */
int index_next(struct index *, enum index_next, uint64_t *number, struct err *);
int index_set_next(struct index *, enum index_next, uint64_t number, struct err *);

struct index_fragment {
	uint64_t number;
	uint32_t pack;
	uint64_t at;    /* of its record */
	uint32_t bytes; /* of its data */
	struct fragment_head head;
};

int index_add_fragment(struct index *, const struct index_fragment *, struct err *);
/* 1 found, 0 not, -1. */
int index_find_fragment(struct index *, const uint8_t sha256[SHA256_BYTES],
    struct index_fragment *, struct err *);
/* One whose data has this raw digest and length, whatever it is compressed with. */
int index_find_raw(struct index *, const uint8_t raw_digest[RAW_DIGEST_BYTES],
    uint32_t raw_bytes, struct index_fragment *, struct err *);
/* Before the first index_find_raw() of a writer: stores of older programs have no
 * index for it. */
int index_prepare_raw(struct index *, struct err *);
int index_get_fragment(
    struct index *, uint64_t number, struct index_fragment *, struct err *);
/* Where fragments are: one walk at a time, and no other use of the index for writing
 * before it has ended.  Cheap where each number is a little behind the one before, as
 * those of an image mostly are. */
struct index_place {
	uint64_t at;
	uint32_t pack, bytes; /* as in struct index_fragment */
};

struct index_walk {
	struct index *x;
	uint64_t number; /* of the row that was read last; 0: none */
};

struct index_walk index_walk_of(struct index *);
/* 1 found, 0 not, -1. */
int index_walk_to(
    struct index_walk *, uint64_t number, struct index_place *, struct err *);
void index_walk_end(struct index_walk *);
int index_move_fragment(
    struct index *, uint64_t number, uint32_t pack, uint64_t at, struct err *);
int index_delete_fragment(struct index *, uint64_t number, struct err *);
/* In order of their numbers, from *number on: 1 and *f, 0 there are no more. */
int index_fragment_from(
    struct index *, uint64_t number, struct index_fragment *f, struct err *);

struct index_pack {
	uint32_t number;
	uint64_t bytes; /* committed; what is behind is of no use */
};

int index_put_pack(struct index *, const struct index_pack *, struct err *);
int index_delete_pack(struct index *, uint32_t number, struct err *);
/* The first one from `number` on: 1, 0, -1. */
int index_pack_from(struct index *, uint32_t number, struct index_pack *, struct err *);

/* No record that the index means begins at *end of that pack, or behind; 0: none is in
 * it.  Reads the whole index. */
int index_pack_end(struct index *, uint32_t number, uint64_t *end, struct err *);

struct index_image {
	uint64_t number;
	uint32_t pack;
	uint64_t at, bytes;        /* of its record; of the record's body */
	struct recipe_image about; /* without labels: the record has them */
};

int index_add_image(struct index *, const struct index_image *, struct err *);
/* name->version 0: the latest.  1, 0, -1. */
int index_find_image(
    struct index *, const struct store_name *, struct index_image *, struct err *);
int index_move_image(
    struct index *, uint64_t number, uint32_t pack, uint64_t at, struct err *);
int index_delete_image(struct index *, uint64_t number, struct err *);
/* All images by name and version. */
int index_each_image(struct index *,
    int (*fn)(void *arg, const struct index_image *, struct err *), void *arg,
    struct err *);
/* How many versions of a name there are. */
int index_count_versions(struct index *, const char *name, uint64_t *n, struct err *);

struct index_totals {
	uint64_t fragments, fragment_bytes, images, image_chunks, data_bytes, packs,
	    pack_bytes;
	uint64_t raw_unique; /* different raw digests */
};
int index_totals(struct index *, struct index_totals *, struct err *);

#endif /* EMUSTORE_STORE_INDEX_H */
