/* packs.h: the packs of a store for one reader: they are found by their numbers in the
 * index, and read in place. */
#ifndef EMUSTORE_STORE_PACKS_H
#define EMUSTORE_STORE_PACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "emustore/store/blocks.h"
#include "emustore/store/index.h"
#include "emustore/store/record.h"

/* Belongs to one thread at a time.  A pack that is a file stays open after its first use,
 * so that it can be read even after gc has removed it.  When too many files are open, the
 * packs that have not been read for the longest time are closed. */
struct packs;

/* blocks: through which the packs of a bucket are read; NULL: packs are files.  Both
 * arguments are held until packs_free().  Returns NULL when out of memory. */
struct packs *packs_new(struct objects *, struct blocks *);
/* The same packs, with the same slots, for one more reader, who frees them.  NULL: out of
 * memory.  The first reader may not be at work meanwhile. */
struct packs *packs_more(const struct packs *);
/* Close all packs, and release what packs_new() holds.  NULL is allowed. */
void packs_free(struct packs *);
/* Find the pack that has this number in the index; *slot becomes its number among the
 * packs of this reader.  ERR_IO with ENOENT: the pack no longer exists. */
int packs_slot(
    struct packs *, struct index *, uint32_t number, uint32_t *slot, struct err *);
/* Reads as preadv() does, from byte `at` of the pack.  Returns how many bytes were read:
 * fewer than asked for only at the end of the pack; -1 on failure. */
ssize_t packs_readv(struct packs *, uint32_t slot, const struct iovec *, int n,
    uint64_t at, struct err *);
/* Like packs_readv(), for some fragments alone: from a bucket, mostly no more than these
 * bytes are fetched.  Nobody has compared them with anything, while all else that is read of
 * a bucket was compared with a SHA-256. */
ssize_t packs_read_range(struct packs *, uint32_t slot, const struct iovec *, int n,
    uint64_t at, struct err *);
/* Announce that these n bytes will be read soon: from a bucket they are fetched meanwhile.
 * Does nothing for files. */
void packs_want(struct packs *, uint32_t slot, uint64_t at, size_t n);
/* Are the packs files, and not objects in a bucket? */
bool packs_are_files(const struct packs *);
enum { PACKS_NAME_BYTES = 600 };
/* The name of a pack for messages: "DIR: pack 0123456789ab...".  `slot` is that of
 * packs_slot(). */
struct packs_name {
	char text[PACKS_NAME_BYTES];
};
struct packs_name packs_name(const struct packs *, uint32_t slot);
/* Read the whole record at byte `at`: its head to *h, its body to `body`; the checksums of
 * both are checked.  ERR_FORMAT: there is no record, or it is damaged. */
int packs_read_record(struct packs *, uint32_t slot, uint64_t at, struct record_head *,
    struct buf *body, struct err *);

#endif /* EMUSTORE_STORE_PACKS_H */
