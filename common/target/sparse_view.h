/* sparse_view.h: makes a view of a disk for a search for signatures, which shows only sectors
 * in which the search may find something.
 *
 * libblkid reads a file descriptor and looks wherever some kind of signature can be. It
 * is given a file in memory, as long as the area that is searched, which has the bytes of
 * the disk where they may be seen, and zeros everywhere else.
 */
#ifndef COMMON_TARGET_SPARSE_VIEW_H
#define COMMON_TARGET_SPARSE_VIEW_H

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "common/disk/rangeset.h"

/* Copy the sectors of `area` that are in `seen` and near one end of the area into a file
 * in memory: no signature that libblkid knows is farther from both ends. Sectors that
 * cannot be read are zeros. Returns the descriptor, which the caller closes, or -1
 * (ERR_IO, ERR_NOMEM). */
int sparse_view_open(struct disk *, struct range area, const struct rangeset *seen, struct err *);

#endif /* COMMON_TARGET_SPARSE_VIEW_H */
