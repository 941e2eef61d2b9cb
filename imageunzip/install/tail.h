/* tail.h: puts the tail of an image (common/image/format/ext_tail.h) on a target.
 *
 * On a disk as large as the image's, the tail is written to its place. On other disks it
 * is left out, and the user is told; with --tail=move, the pieces that can be moved go to
 * the same distance from the end of a larger disk.
 */
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
/* If not: where do the first sectors of r (r.len > 0) go? Returns how many sectors go to
 * the same place; *to: their first sector on the target; UINT64_MAX: they are left out.
 * From any thread. */
uint64_t tail_place(
    const struct target *, const struct tail *, struct range r, uint64_t *to);

/* Call put() for data that is adjacent in the image (`data` NULL: zeros), with the place
 * where each part goes; sectors that are left out are dropped. Errors of put(). */
int tail_divert(struct target *, const struct tail *, target_put_fn *put,
    uint64_t sector, const void *data, uint64_t bytes, struct ledger_parts *,
    struct err *);
/* Treat the sectors of a region that are not written to their place as free space. */
int tail_free(struct target *, const struct tail *, struct range, struct err *);

/* Called before anything of a chunk with this record is written: ERR_REFUSED when --tail,
 * --fix-gpt or --grow cannot be done with this tail. Afterwards, free space is not filled
 * where a piece is moved to. */
int tail_check(struct target *, const struct tail *, struct err *);

/* Called when all data is on the target: correct moved superblocks that name their place.
 * ERR_FORMAT, or errors of reading and writing. */
int tail_finish(struct target *, const struct tail *, struct err *);

#endif /* IMAGEUNZIP_INSTALL_TAIL_H */
