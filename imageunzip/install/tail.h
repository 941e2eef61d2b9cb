/* tail.h: what becomes of an image's tail (common/image/format/ext_tail.h) on this target.
 *
 * On a disk of the size that it came from it is written to its place.  Elsewhere it is
 * left out, and the user is told; with --tail=move what is known to stay right goes to
 * the same distance from the end of a larger disk. */
#ifndef IMAGEUNZIP_INSTALL_TAIL_H
#define IMAGEUNZIP_INSTALL_TAIL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/range.h"
#include "common/image/format/ext_tail.h"
#include "imageunzip/install/target.h"

/* Does the tail go to its place, like everything else?  From any thread. */
bool tail_in_place(const struct target *, const struct tail *);
/* Else: where the first sectors of r (r.len > 0) go.  How many of them are alike; *to:
 * their first sector on the target, UINT64_MAX: they are left out.  From any thread. */
uint64_t tail_place(
    const struct target *, const struct tail *, struct range r, uint64_t *to);

/* Of data of sectors that lie side by side in the image (`data` NULL: zeros), put()
 * what goes somewhere, there. */
int tail_divert(struct target *, const struct tail *, target_put_fn *put,
    uint64_t sector, const void *data, uint64_t bytes, struct err *);
/* The sectors of a region that are left out become free space. */
int tail_free(struct target *, const struct tail *, struct range, struct err *);

/* Before anything of a chunk with this record is written: can be done what is wanted?
 * ERR_REFUSED.  From then on no free space is filled where something is moved to. */
int tail_check(struct target *, const struct tail *, struct err *);

/* When all data is on the target: make right what was moved and names its place. */
int tail_finish(struct target *, const struct tail *, struct err *);

#endif /* IMAGEUNZIP_INSTALL_TAIL_H */
