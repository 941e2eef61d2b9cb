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

/* Of a store that was opened with STORE_WRITE and STORE_ANEW.  What is in use of packs with
 * more than dead_percent of no use is copied to new ones, no more than one pack at a time;
 * then they go: in a folder at once, in a bucket when a grace has passed.  0 percent: small
 * packs are put together, too. */
int gc_run(struct store *, unsigned dead_percent, struct gc_stats *, struct err *);

#endif /* EMUSTORE_STORE_GC_H */
