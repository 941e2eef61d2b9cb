/* copy.h: images of one store into another one, as they are. */
#ifndef EMUSTORE_STORE_COPY_H
#define EMUSTORE_STORE_COPY_H

#include "emustore/store/store.h"

struct copy_stats {
	uint64_t fragments;                    /* that the image has, each time it has it */
	uint64_t new_fragments, new_bytes;     /* that the other store lacked */
	uint64_t recipe_bytes;
};

/* The image, by the same name and version, into `to`, which is in a transaction; all that it
 * lacks is read out of `from`, and checked by its SHA-256.  1 it was copied, and is there when this
 * returns; 0 it was there before; -1.  ERR_REFUSED: another image has that name and version.
 * ERR_IO with ENOENT: gc has taken away what is needed since `from` was looked at. */
int copy_image(struct store *from, struct store *to, const struct index_image *,
    struct copy_stats *, struct err *);

#endif /* EMUSTORE_STORE_COPY_H */
