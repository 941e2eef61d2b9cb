/* remote_check.h: is a store in a bucket whole, and what of it can be saved. */
#ifndef EMUSTORE_STORE_REMOTE_CHECK_H
#define EMUSTORE_STORE_REMOTE_CHECK_H

#include "emustore/store/check.h"
#include "emustore/store/gc.h"

/* check_store() of a bucket: that each pack is there in its full size; with c->data all
 * of their blocks are fetched, past the cache, and compared. */
int remote_check(struct check *, struct store *, struct err *);
/* What of damaged packs is good goes to new ones; then those count no longer, so that
 * a put brings back what they have lost. */
int remote_repair(struct check *, struct store *, struct err *);
/* gc_run() of a bucket; docs/store-format.md says why it is safe. */
int remote_gc(struct store *, unsigned dead_percent, struct gc_stats *, struct err *);

#endif /* EMUSTORE_STORE_REMOTE_CHECK_H */
