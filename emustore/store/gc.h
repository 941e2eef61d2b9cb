/* gc.h: removes what no image refers to. */
#ifndef EMUSTORE_STORE_GC_H
#define EMUSTORE_STORE_GC_H

#include "emustore/store/store.h"

/* The usual dead_percent: a pack of which a smaller part is not needed is left unchanged. */
enum { GC_DEAD_PERCENT = 20 };

/* What was removed: fragments, packs, and bytes that are free now. */
struct gc_stats {
	uint64_t fragments, packs, bytes_freed;
	uint64_t bytes_condemned; /* in a bucket: removed when the grace is over */
	/* Why a store in a folder has no reserve; ERR_NONE: it has one. */
	struct err lacks_reserve;
};

/* How many bytes of those that have to be copied were copied. */
struct gc_watch {
	void (*progress)(void *arg, uint64_t done, uint64_t total); /* NULL: nobody is told */
	void *arg;
};

/* Remove what no image needs.  The store must have been opened with STORE_WRITE and
 * STORE_ANEW.  Packs of which at least dead_percent, and anything at all, is not needed are
 * replaced: what is needed is copied into new packs, one pack at a time, and after that the old
 * packs are removed, in a folder at once, in a bucket when the grace period has passed.  With
 * dead_percent 0, small packs are combined, too. */
int gc_run(struct store *, unsigned dead_percent, const struct gc_watch *, struct gc_stats *,
    struct err *);

#endif /* EMUSTORE_STORE_GC_H */
