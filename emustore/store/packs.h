/* packs.h: the packs of a store, for one reader: found by the numbers that the index has for
 * them, and read in place. */
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

/* Belongs to one thread at a time.  Packs that are files stay open once they are, so that
 * what they hold can be read even after gc has removed them; when too many are open, those
 * that were not read for longest are closed. */
struct packs;

/* blocks: where the packs of a bucket are read; NULL: they are files.  Both are held until
 * packs_free().  NULL: out of memory. */
struct packs *packs_new(struct objects *, struct blocks *);
void packs_free(struct packs *);
/* A small number for the pack that this index has under that one.  ERR_IO with ENOENT:
 * there is no such pack any more. */
int packs_slot(
    struct packs *, struct index *, uint32_t number, uint32_t *slot, struct err *);
/* As preadv(); fewer bytes only at the end of the pack. */
ssize_t packs_readv(struct packs *, uint32_t slot, const struct iovec *, int n,
    uint64_t at, struct err *);
/* These bytes will be read soon: out of a bucket they are fetched meanwhile. */
void packs_want(struct packs *, uint32_t slot, uint64_t at, size_t n);
bool packs_are_files(const struct packs *);
enum { PACKS_NAME_BYTES = 600 };
/* "DIR: pack 0123456789ab...". */
struct packs_name {
	char text[PACKS_NAME_BYTES];
};
struct packs_name packs_name(const struct packs *, uint32_t slot);
/* One whole record at `at`: its head, and its body into `body`, both checked.
 * ERR_FORMAT when there is none, or it is damaged. */
int packs_read_record(struct packs *, uint32_t slot, uint64_t at, struct record_head *,
    struct buf *body, struct err *);

#endif /* EMUSTORE_STORE_PACKS_H */
