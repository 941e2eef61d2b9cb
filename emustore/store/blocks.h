/* blocks.h: packs of a bucket, read in blocks of 1 MiB: the last ones in memory, more
 * in a folder of the cache, the next ones fetched before they are asked for.  Each
 * block has the SHA-256 that its pack's table says, or nobody sees it; one of the cache
 * that has not is fetched again.  For several threads at once. */
#ifndef EMUSTORE_STORE_BLOCKS_H
#define EMUSTORE_STORE_BLOCKS_H

#include "emustore/objects/objects.h"
#include "emustore/store/toc.h"

struct blocks;

/* dir: for the files, made when it is not there; at most max_bytes of them.  The objects
 * are held. */
int blocks_new(
    struct blocks **, struct objects *, const char *dir, uint64_t max_bytes, struct err *);
struct blocks *blocks_hold(struct blocks *);
void blocks_release(struct blocks *); /* NULL: nothing */
/* A pack that may be read, if it is not known yet; its number is the caller's.  digests,
 * SHA-256 of its blocks, are taken over.  ERR_FORMAT: they are not as many as it has. */
int blocks_add_pack(struct blocks *, uint32_t number, const char *id, uint64_t bytes,
    struct buf *digests, struct err *);
bool blocks_has_pack(struct blocks *, uint32_t number);
/* Fewer bytes only at the end of the pack. */
ssize_t blocks_read(
    struct blocks *, uint32_t number, void *buf, size_t n, uint64_t at, struct err *);
/* These bytes will be read: fetched meanwhile, unless enough is on its way. */
void blocks_want(struct blocks *, uint32_t number, uint64_t at, size_t n);

/* A block from the bucket, checked, past all caches. */
int blocks_fetch(struct objects *, const char *id, uint64_t pack_bytes,
    const uint8_t *digests, uint32_t block, uint8_t *out, struct err *);

#endif /* EMUSTORE_STORE_BLOCKS_H */
