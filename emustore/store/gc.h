/* gc.h: remove what no image refers to. */
#ifndef EMUSTORE_STORE_GC_H
#define EMUSTORE_STORE_GC_H

#include "emustore/store/store.h"

/* A pack of which less is of no use is left as it is. */
enum { GC_DEAD_PERCENT = 20 };

struct gc_stats {
	uint64_t fragments, packs, bytes_freed;
	uint64_t bytes_condemned; /* in a bucket: they go when the grace is over */
};

/* A transaction of its own.  Packs with more than dead_percent of no use are written
 * anew without it; the old ones go when the index knows the new ones. */
int gc_run(struct store *, unsigned dead_percent, struct gc_stats *, struct err *);

#endif /* EMUSTORE_STORE_GC_H */
