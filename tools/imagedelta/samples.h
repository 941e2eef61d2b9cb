/* samples.h: the samples that a delta of two images has of the data of the old one, its
 * base. */
#ifndef TOOLS_IMAGEDELTA_SAMPLES_H
#define TOOLS_IMAGEDELTA_SAMPLES_H

#include "common/disk/rangeset.h"
#include "common/image/format/basis.h"
#include "common/image/read/sectors.h"

/* Add all sectors that relocations of either image look at or change to the set, and seal it:
 * no sample may have one of them.  ERR_NOMEM. */
int samples_avoid(struct rangeset *, struct sectors *old, struct sectors *new,
    struct err *);
/* Put the samples that chunk 0 gets (pick.h) into a basis that has none.  Both images are read
 * at hot places, and at places that are evenly spread over what the old one stores.  All
 * arguments are borrowed for the call.  Errors as sectors_read(); ERR_NOMEM; ERR_CANCELLED. */
int samples_find(struct basis *, struct sectors *old, struct sectors *new,
    const struct rangeset *avoid, struct err *);

#endif /* TOOLS_IMAGEDELTA_SAMPLES_H */
