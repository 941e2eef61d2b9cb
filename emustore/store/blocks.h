/* blocks.h: packs of a bucket, read in blocks of 1 MiB: the last ones in memory, more
 * in a folder of the cache, the next ones fetched before they are asked for.  Each
 * block has the SHA-256 that its pack's table says, or nobody sees it; one of the cache
 * that has not is fetched again.  For several threads at once. */
#ifndef EMUSTORE_STORE_BLOCKS_H
#define EMUSTORE_STORE_BLOCKS_H

#include "emustore/s3/s3.h"
#include "emustore/store/toc.h"

struct blocks;

/* dir: for the files, made when it is not there; at most max_bytes of them. */
int blocks_new(
    struct blocks **, struct s3 *, const char *dir, uint64_t max_bytes, struct err *);
struct blocks *blocks_hold(struct blocks *);
void blocks_release(struct blocks *); /* the last one also closes the s3 */
/* A pack that may be read; its number is the caller's, higher than those before.
 * Digests are copied. */
int blocks_add_pack(struct blocks *, uint32_t number, const char *id, uint64_t bytes,
    const uint8_t *digests, struct err *);
bool blocks_has_pack(struct blocks *, uint32_t number);
uint64_t blocks_pack_bytes(struct blocks *, uint32_t number);
void blocks_pack_name(struct blocks *, uint32_t number, char *out, size_t cap);
/* Fewer bytes only at the end of the pack. */
ssize_t blocks_read(
    struct blocks *, uint32_t number, void *buf, size_t n, uint64_t at, struct err *);
/* These bytes will be read: fetched meanwhile, unless enough is on its way. */
void blocks_want(struct blocks *, uint32_t number, uint64_t at, size_t n);

/* A block from the bucket, checked, past all caches. */
int blocks_fetch(struct s3 *, const char *id, uint64_t pack_bytes,
    const uint8_t *digests, uint32_t block, uint8_t *out, struct err *);

#endif /* EMUSTORE_STORE_BLOCKS_H */
