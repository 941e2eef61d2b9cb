/* index_remote.h: what the index of a store in a bucket has besides: which object each
 * pack and each recipe is.  All of it can be made again from the bucket. */
#ifndef EMUSTORE_STORE_INDEX_REMOTE_H
#define EMUSTORE_STORE_INDEX_REMOTE_H

#include "common/base/buf.h"
#include "emustore/store/index.h"
#include "emustore/store/toc.h"

/* The index of index_open() with these tables; made when it is not there. */
int index_open_remote(struct index **, const char *path, struct err *);

/* A pack, with all that its table says.  A fragment that another pack has, too, is kept
 * as a spare. */
int index_add_pack(struct index *, const char *id, struct toc *, struct err *);
struct index_object {
	uint32_t number;
	bool condemned; /* nothing new may refer to it */
	char id[PACK_ID_CHARS + 1];
	uint64_t bytes;
};
/* 1, 0, -1; digests (NULL: not wanted) of its blocks. */
int index_find_object(
    struct index *, const char *id, struct index_object *, struct err *);
int index_get_object(struct index *, uint32_t number, struct index_object *,
    struct buf *digests, struct err *);
int index_each_object(struct index *,
    int (*fn)(void *arg, const struct index_object *, struct err *), void *arg,
    struct err *);
int index_condemn(struct index *, uint32_t pack, struct err *);
int index_drop_object(struct index *, uint32_t pack, struct err *);
/* After some of these: fragments move to packs that are there and not condemned, if
 * there are such; those that no pack has any more go. */
int index_settle(struct index *, struct err *);

struct index_recipe {
	uint64_t number; /* of its image */
	char key[300];
	char etag[80];
	uint64_t bytes; /* of the object */
};
int index_add_recipe(struct index *, const struct index_recipe *, struct err *);
int index_find_recipe(
    struct index *, const char *key, struct index_recipe *, struct err *);
int index_get_recipe(
    struct index *, uint64_t number, struct index_recipe *, struct err *);
int index_each_recipe(struct index *,
    int (*fn)(void *arg, const struct index_recipe *, struct err *), void *arg,
    struct err *);
int index_drop_recipe(
    struct index *, uint64_t number, struct err *); /* and its image */

#endif /* EMUSTORE_STORE_INDEX_REMOTE_H */
