/* store_disk.h: an image in a store, as if it were a file: for whoever reads images
 * through disk.h.  Chunks are put together when they are read; the last few stay. */
#ifndef COMMON_STORE_STORE_DISK_H
#define COMMON_STORE_STORE_DISK_H

#include "common/disk/disk.h"

/* Of chunks that are made again, which takes long; of others, which are only put
 * together, an eighth. */
enum { STORE_DISK_CACHE_CHUNKS = 16 };

/* name: as store_name_get() has it.  cache_chunks: of 1 MiB each.  May be
 * read by several threads.  A chunk that is damaged fails the read, and the sentence
 * says what is damaged. */
int store_disk_open(struct disk **, const char *store, const char *name,
    unsigned cache_chunks, struct err *);

#endif /* COMMON_STORE_STORE_DISK_H */
