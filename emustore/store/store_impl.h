/* store_impl.h: what the files of a store share.  store.c opens and closes a store,
 * store_format.c has the object "format", cache.c knows where the index is kept, refresh.c
 * brings the index up to date, and claim.c keeps the writers of a bucket apart. */
#ifndef EMUSTORE_STORE_STORE_IMPL_H
#define EMUSTORE_STORE_STORE_IMPL_H

#include "emustore/store/store.h"

/* store_format.c */

/* Read s->pack_bytes and s->grace_seconds from the format.  mend: a format that is lost
 * or damaged is written anew.  ERR_ABSENT: this is no store; ERR_FORMAT, ERR_UNSUPPORTED:
 * the format is damaged, or another one. */
int store_read_format(struct store *, bool mend, struct err *);

/* cache.c */

/* Open s->index, and s->blocks of a bucket.  access: bits of enum store_access. */
int cache_open(
    struct store *, const struct store_place *, unsigned access, struct err *);
/* Go on with an index of this process alone, because the one in the cache is damaged
 * (`damaged`: it is removed), or there is no room for it.  Packs have other numbers from then on,
 * so s->blocks begins anew. */
int cache_leave(struct store *, bool damaged, struct err *);
/* Keep other processes from bringing the index in the cache up to date at the same time,
 * and let them again.  Without a cache these functions do nothing.  cache_lock() waits for
 * them; ERR_CANCELLED: a signal has ended this. */
int cache_lock(struct store *, struct err *);
/* Is the file of the index that was opened still the one that is in the cache?  Another
 * process may have removed it, and made another one.  To be asked, with cache_lock()
 * held, before the index is written: SQLite's journal would be taken for that of the new
 * file. */
bool cache_is_current(const struct store *);
void cache_unlock(struct store *);

/* refresh.c */

/* Bring the index up to date when the store is opened, unless its mark is that of the
 * objects.  writing: say first in the store that this process writes. */
int refresh_first(struct store *, bool writing, struct err *);
/* A writer has ended: say so in the store, and bring the kept index up to date with what
 * this writer has changed, if nobody else has changed anything. */
void refresh_last(struct store *);

/* claim.c */

/* Try to be the only writer that makes this image, in a bucket.  1: it is; key is that of
 * its claim, which the caller removes when the image is there.  0: another writer may make
 * this image, or it exists; or fresh is set, and its number was given before.  -1. */
int claim_image(struct store *, const struct store_name *, bool fresh, char key[KEY_BYTES],
    struct err *);

#endif /* EMUSTORE_STORE_STORE_IMPL_H */
