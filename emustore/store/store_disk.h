/* store_disk.h: an image in a store, as if it were a file: for whoever reads images
 * through disk.h.  Chunks are put together when they are read; the last few stay. */
#ifndef EMUSTORE_STORE_STORE_DISK_H
#define EMUSTORE_STORE_STORE_DISK_H

#include "common/disk/disk.h"
#include "emustore/store/cache.h"

/* name: as store_name_get() has it.  The cache stays the caller's, until the disk is
 * closed; NULL: as small as it can be.  May be read by several threads.  A chunk that
 * is damaged fails the read, and the sentence says what is damaged. */
int store_disk_open(struct disk **, const char *store, const char *name,
    struct store_cache *, struct err *);

#endif /* EMUSTORE_STORE_STORE_DISK_H */
