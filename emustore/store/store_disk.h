/* store_disk.h: an image in a store, as if it were a file, for programs that read images
 * through disk.h.
 *
 * With a cache, chunks are put together when they are read, and the last few stay in it: for
 * the wire, which sends all blocks of a chunk.  Without one, only the fragments are read
 * that have the bytes that are asked for: for readers who keep what they have decoded
 * (common/image/read/random.h).  Whole chunks are checked; of a part only the fragments
 * that all of it are asked for, so who reads parts checks them, as with any file.  Chunks that
 * are redeflated are put together in any case, and kept. */
#ifndef EMUSTORE_STORE_STORE_DISK_H
#define EMUSTORE_STORE_STORE_DISK_H

#include "common/disk/disk.h"
#include "emustore/store/cache.h"

/* Open image `name` (as store_name_get() reads it) of the store.  The cache stays the
 * caller's, and is needed until the disk is closed; NULL: there is none.
 * Several threads may read the disk.  A chunk that is damaged fails the read with EBADMSG,
 * and the disk's sentence says what is damaged.  Errors are those of store_open() and
 * stored_open(). */
int store_disk_open(struct disk **, const char *store, const char *name,
    struct store_cache *, struct err *);

#endif /* EMUSTORE_STORE_STORE_DISK_H */
