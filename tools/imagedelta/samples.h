/* samples.h: what a delta of two images says of the data of the first one, its base. */
#ifndef TOOLS_IMAGEDELTA_SAMPLES_H
#define TOOLS_IMAGEDELTA_SAMPLES_H

#include "common/disk/rangeset.h"
#include "common/image/format/basis.h"
#include "common/image/read/sectors.h"

/* All sectors that relocations of either image change: no samples lie there. */
int samples_avoid(struct rangeset *, struct sectors *old, struct sectors *new,
    struct err *);
/* The samples of the whole disk, into a basis that has none: both images are read at
 * places that are evenly spread over what the old one stores. */
int samples_spread(struct basis *, struct sectors *old, struct sectors *new,
    const struct rangeset *avoid, struct err *);

#endif /* TOOLS_IMAGEDELTA_SAMPLES_H */
