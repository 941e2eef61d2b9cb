/* composite.h: a disk that is put together out of pieces of others. */
#ifndef IMAGEZIP_SHRINK_COMPOSITE_H
#define IMAGEZIP_SHRINK_COMPOSITE_H

#include "common/disk/disk.h"

struct composite;

/* Begin a disk with this name; what belongs to no piece is zeros.  What is written to the disk is
 * kept in memory, and seen by readers from then on; the pieces are only read.  ERR_NOMEM. */
int composite_begin(struct composite **, const char *name, struct err *);
/* Show the sectors of `from`, from `from_sector` on, at these sectors.  The pieces come in the
 * order of their places and do not overlap; `from` is borrowed.  ERR_NOMEM. */
int composite_add(struct composite *, struct range sectors, struct disk *from,
    uint64_t from_sector, struct err *);
/* The disk, with its first so many sectors.  Several threads may read it when nobody writes to
 * it.  It is to be closed before the pieces are, and before it is opened again.  ERR_NOMEM. */
int composite_open(struct disk **, struct composite *, uint64_t sectors, unsigned sector_bytes,
    struct err *);
/* To be called when its disks are closed.  NULL is fine. */
void composite_end(struct composite *);

#endif /* IMAGEZIP_SHRINK_COMPOSITE_H */
