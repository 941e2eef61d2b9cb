/* store_impl.h: what the parts of a store share: store.c opens and closes one, store_format.c
 * has the object "format", cache.c knows where the index is kept, look.c brings it up to
 * date, claim.c keeps the writers of a bucket apart.
 */
#ifndef EMUSTORE_STORE_STORE_IMPL_H
#define EMUSTORE_STORE_STORE_IMPL_H

#include "emustore/store/store.h"

/* store_format.c */

/* s->pack_bytes and s->grace_seconds; mend: made again, when it cannot be read. */
int store_read_format(struct store *, bool mend, struct err *);

/* cache.c */

/* s->index, and s->blocks of a bucket. */
int cache_open(
    struct store *, const struct store_place *, unsigned access, struct err *);
/* Go on with an index of this process alone, and without what is kept: it is damaged
 * (then it is removed), or there is no room for it. */
int cache_leave(struct store *, bool damaged, struct err *);
void cache_lock(struct store *);
void cache_unlock(struct store *);

/* claim.c */

/* To be the only one who makes that image: 1, with the claim's key, which is to be
 * deleted when the image is there; 0 somebody else may be; -1. */
int claim_image(
    struct store *, const struct store_name *, char key[KEY_BYTES], struct err *);

#endif /* EMUSTORE_STORE_STORE_IMPL_H */
