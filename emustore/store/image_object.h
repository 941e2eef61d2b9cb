/* image_object.h: the object of an image: its description, the blocks of its recipe, and the
 * SHA-256 digests of its fragments. */
#ifndef EMUSTORE_STORE_IMAGE_OBJECT_H
#define EMUSTORE_STORE_IMAGE_OBJECT_H

#include "common/base/rd.h"
#include "emustore/store/spill.h"
#include "emustore/store/store.h"

struct image_object {
	struct spill bytes;
	/* Where the body of the recipe is, and where its blocks are, which follow the
	 * description. */
	uint64_t recipe_at, recipe_bytes, blocks_at, blocks_end;
	uint64_t digests_at, ndigests;
};

/* Load the object of an image of the index, and see that it is whole.  The store is needed
 * only during the call.  The caller frees it, after a failure, too.  ERR_FORMAT: the object is
 * damaged; ERR_IO with ENOENT: it is gone. */
int image_object_load(
    struct image_object *, struct store *, const struct index_image *, struct err *);
void image_object_free(struct image_object *);
/* Read the description of the image, and find the blocks behind it.  ERR_FORMAT: it is
 * damaged. */
int image_object_about(struct image_object *, struct recipe_image *, struct err *);
/* Read the block at byte `at` (blocks_at, and then what *next was) into *k, which borrows from
 * the view.  1: there is one; 0: there are no more; -1. */
int image_object_block(const struct image_object *, struct spill_view *, uint64_t at,
    struct recipe_block *k, uint64_t *next, struct err *);
/* The digest of fragment `number`, valid until the next use of the view.  NULL: there is no
 * such fragment (ERR_FORMAT), or ERR_IO. */
const uint8_t *image_object_digest(
    const struct image_object *, struct spill_view *, uint64_t number, struct err *);

#endif /* EMUSTORE_STORE_IMAGE_OBJECT_H */
