/* target_tail.h: puts the tail of an image (common/image/format/ext_tail.h) on a target.
 *
 * On a disk as large as the image's, the tail is written to its place. On other disks it
 * is left out, and the user is told; with --tail=move, the pieces that can be moved go to
 * the same distance from the end of a larger disk.
 */
#ifndef IMAGEUNZIP_INSTALL_TARGET_TAIL_H
#define IMAGEUNZIP_INSTALL_TARGET_TAIL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/range.h"
#include "common/image/format/ext_tail.h"
#include "imageunzip/install/target.h"

/* Does the tail go to its place, like everything else?  From any thread. */
bool target_tail_in_place(const struct target *, const struct tail *);

/* Called before anything of a chunk with this record is written: ERR_REFUSED when --tail,
 * --fix-gpt or --grow cannot be done with this tail. Afterwards, the maps of the target have
 * the pieces where they go, and free space is not filled where a piece is moved to. */
int target_tail_check(struct target *, const struct tail *, struct err *);

/* Called when all data is on the target: correct moved superblocks that name their place.
 * ERR_FORMAT, or errors of reading and writing. */
int target_tail_finish(struct target *, const struct tail *, struct err *);

#endif /* IMAGEUNZIP_INSTALL_TARGET_TAIL_H */
