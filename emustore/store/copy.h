/* copy.h: copies images of one store into another one, as they are. */
#ifndef EMUSTORE_STORE_COPY_H
#define EMUSTORE_STORE_COPY_H

#include "emustore/store/store.h"

struct copy_stats {
	/* of the image; a fragment that occurs several times is counted each time */
	uint64_t fragments;
	uint64_t new_fragments, new_bytes;     /* what the other store lacked */
	uint64_t recipe_bytes;
};

/* Copy an image, under the same name and version, into `to`, which is in a transaction.
 * All that `to` lacks is read from `from`, compared with its SHA-256, and decompressed to
 * check what its head says of its data.  1: the image was copied, and exists when this
 * returns; 0: it existed before; -1.  ERR_REFUSED: another image has this name and version.
 * ERR_FORMAT: something in `from` is damaged, or not what it says.  `from` is looked at again
 * if gc has removed a pack that is needed, so its index may change; no walk over the index is
 * under way. */
int copy_image(struct store *from, struct store *to, const struct index_image *,
    struct copy_stats *, struct err *);

#endif /* EMUSTORE_STORE_COPY_H */
