/* parts.h: installs some partitions of the image of a disk (--only). Each partition has
 * an installation of its own, with its own marker in its own partition, its own free
 * space, and its own end. The functions do what the functions of install.h with the same
 * endings do for an installation with `parts`, and are called by them. */
#ifndef IMAGEUNZIP_INSTALL_PARTS_H
#define IMAGEUNZIP_INSTALL_PARTS_H

#include "imageunzip/install/install.h"

struct parts;

/* Open an installation for each partition. ERR_USAGE: an option has no meaning with
 * --only, or the target does not have the partition; ERR_REFUSED: it is in use. */
int parts_open(
    struct install **, const struct install_config *, const char *target, struct err *);
/* parts_finish() and parts_abort() free the installation. */
int parts_finish(struct install *, struct install_stats *, struct err *);
void parts_abort(struct install *);
/* Feed a chunk to the installations that it has sectors of. released is that of
 * install_feed(), or NULL. */
int parts_feed(struct parts *, uint32_t number, const void *chunk,
    void (*released)(void *arg, const void *chunk), void *arg, struct err *);
/* Is the chunk on the target in all partitions? */
bool parts_has(const struct parts *, uint32_t chunk);
/* install_lacks_place() and install_offer() of the only partition that has a state. */
bool parts_lacks_place(struct parts *);
int parts_offer(struct parts *, uint32_t number, const void *chunk, struct err *);
/* Has a thread of any partition failed? */
bool parts_failed(struct parts *);
/* The sum over all partitions. */
uint64_t parts_bytes_covered(struct parts *);
/* For these, NULL is fine. */
void parts_expect(struct parts *, uint32_t nchunks);
void parts_trust_digests(struct parts *);
void parts_set_again(struct parts *, const struct install_again *);

#endif /* IMAGEUNZIP_INSTALL_PARTS_H */
