/* blocks.h: packs of a bucket, read in blocks of 1 MiB.  The last blocks are kept in
 * memory, more of them in a folder of the cache, and the next ones are fetched before they
 * are asked for.  A block is returned only if it has the SHA-256 that the table of its
 * pack says; a block of the cache that has another one is fetched again.  Several threads
 * may use it at once. */
#ifndef EMUSTORE_STORE_BLOCKS_H
#define EMUSTORE_STORE_BLOCKS_H

#include "emustore/objects/objects.h"
#include "emustore/store/toc.h"

struct blocks;

/* dir: the folder for the files of the cache, made if it does not exist; the files have at
 * most max_bytes.  The objects are held until blocks_release(). */
int blocks_new(
    struct blocks **, struct objects *, const char *dir, uint64_t max_bytes, struct err *);
/* Count one more user of the blocks; the last blocks_release() frees them. */
struct blocks *blocks_hold(struct blocks *);
void blocks_release(struct blocks *); /* NULL: nothing */
/* Add a pack that may be read, if it is not known yet; its number is chosen by the caller.
 * digests: the SHA-256 of each of its blocks, whose memory is taken over if the pack is
 * new.  ERR_FORMAT: there are not as many digests as blocks. */
int blocks_add_pack(struct blocks *, uint32_t number, const char *id, uint64_t bytes,
    struct buf *digests, struct err *);
/* Was a pack of this number added? */
bool blocks_has_pack(struct blocks *, uint32_t number);
/* Read n bytes from byte `at` of a pack.  Returns how many bytes were read: fewer than n
 * only at the end of the pack; -1 on failure. */
ssize_t blocks_read(
    struct blocks *, uint32_t number, void *buf, size_t n, uint64_t at, struct err *);
/* Like blocks_read(), for who reads here and there, and checks what he gets: no more than these
 * bytes are fetched, with one request, and kept in the folder of the cache, unless their blocks
 * are at hand or are next in order.  Nobody has compared them with anything. */
ssize_t blocks_read_range(
    struct blocks *, uint32_t number, void *buf, size_t n, uint64_t at, struct err *);
/* Announce that these bytes will be read: their blocks are fetched meanwhile, unless
 * enough blocks are on their way. */
void blocks_want(struct blocks *, uint32_t number, uint64_t at, size_t n);

/* Tell how often the image that is read has been loaded: the more often, the longer its blocks stay
 * in the folder of the cache. */
void blocks_note_loads(struct blocks *, uint64_t loads);

/* Fetch one block of a pack from the bucket, past all caches, into out[TOC_BLOCK_BYTES];
 * it is compared with its SHA-256 in `digests`, which has those of all blocks. */
int blocks_fetch(struct objects *, const char *id, uint64_t pack_bytes,
    const uint8_t *digests, uint32_t block, uint8_t *out, struct err *);

#endif /* EMUSTORE_STORE_BLOCKS_H */
