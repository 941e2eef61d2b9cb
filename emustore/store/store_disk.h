/* store_disk.h: an image in a store, as if it were a file, for programs that read images
 * through disk.h.  Chunks are put together when they are read; the last few stay in
 * memory. */
#ifndef EMUSTORE_STORE_STORE_DISK_H
#define EMUSTORE_STORE_STORE_DISK_H

#include "common/disk/disk.h"
#include "emustore/store/cache.h"

/* Open image `name` (as store_name_get() reads it) of the store.  The cache stays the
 * caller's, and is needed until the disk is closed; NULL: one of STORE_CACHE_BYTES.
 * Several threads may read the disk.  A chunk that is damaged fails the read with EBADMSG,
 * and the disk's sentence says what is damaged.  Errors are those of store_open() and
 * stored_open(). */
int store_disk_open(struct disk **, const char *store, const char *name,
    struct store_cache *, struct err *);

#endif /* EMUSTORE_STORE_STORE_DISK_H */
