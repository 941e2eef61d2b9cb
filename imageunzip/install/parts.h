/* parts.h: some partitions of the image of a disk (--only).  Each is an installation
 * of its own, with its own marker in its own partition, its own free space, and its
 * own end.  The functions are those of install.h, which calls them. */
#ifndef IMAGEUNZIP_INSTALL_PARTS_H
#define IMAGEUNZIP_INSTALL_PARTS_H

#include "imageunzip/install/install.h"

struct parts;

/* ERR_USAGE: an option that has no meaning with --only, or no such partition of the
 * target; ERR_REFUSED: it is in use. */
int parts_open(
    struct install **, const struct install_config *, const char *target, struct err *);
/* Both free the installation. */
int parts_finish(struct install *, struct install_stats *, struct err *);
void parts_abort(struct install *);
/* A chunk to whom it concerns; released, which may be NULL, as install_feed() has it.
 */
int parts_feed(struct parts *, uint32_t number, const void *chunk,
    void (*released)(void *arg, const void *chunk), void *arg, struct err *);
bool parts_has(const struct parts *, uint32_t chunk);
bool parts_lacks_place(struct parts *);
int parts_offer(struct parts *, uint32_t number, const void *chunk, struct err *);
bool parts_failed(struct parts *);
uint64_t parts_bytes_covered(struct parts *);
/* NULL is fine. */
void parts_expect(struct parts *, uint32_t nchunks);
void parts_trust_digests(struct parts *);

#endif /* IMAGEUNZIP_INSTALL_PARTS_H */
