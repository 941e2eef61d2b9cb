/* sighash.h: makes signatures from data, and hashes a range so that it can be compared. */
#ifndef COMMON_IMAGE_WRITE_SIGHASH_H
#define COMMON_IMAGE_WRITE_SIGHASH_H

#include "common/image/format/sig.h"
#include "common/image/read/window.h"

/* Sectors in ascending order → the records of a signature. */
struct sigmaker;

/* ERR_NOMEM. */
int sigmaker_new(
    struct sigmaker **, enum sig_hash, uint32_t block_sectors, struct err *);
void sigmaker_free(struct sigmaker *);
/* Add the next stored sectors and their data, which are in this chunk of the image.
 * ERR_UNSUPPORTED beyond sector 2^32, since records have no room for more.  ERR_NOMEM. */
int sigmaker_add(struct sigmaker *, struct range sectors, const void *data,
    uint32_t chunk, struct err *);
/* sigmaker_add() for all sectors of a window, whose data is in one piece. */
int sigmaker_add_window(struct sigmaker *, const struct window *, const void *data,
    uint32_t chunk, struct err *);
/* Move the finished signature to *s, which the caller frees.  The maker is still to be freed.
 * ERR_NOMEM. */
int sigmaker_finish(struct sigmaker *, struct sig *s, struct err *);

/* Hash the data that read() puts into buf for these sectors, in ascending pieces.  ERR_NOMEM,
 * or the error of read(). */
int sig_hash_range(enum sig_hash, struct range sectors,
    int (*read)(void *arg, struct range, void *buf, struct err *), void *arg,
    uint8_t hash[SIG_HASH_MAX], struct err *);

#endif /* COMMON_IMAGE_WRITE_SIGHASH_H */
