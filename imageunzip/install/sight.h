/* sight.h: what a search for signatures gets to see of a disk: nothing but what it may
 * find something in.
 *
 * libblkid reads a file descriptor and looks wherever some kind of signature can be.  It
 * is given a file in memory, as long as the area that is searched, which has the bytes of
 * the disk where they may be seen, and zeros everywhere else.
 */
#ifndef IMAGEUNZIP_INSTALL_SIGHT_H
#define IMAGEUNZIP_INSTALL_SIGHT_H

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "common/disk/rangeset.h"

/* Of these sectors of the disk, those in `seen`, as far as they are near one end of the
 * area: no signature of the kinds that libblkid knows is further away.  What cannot be
 * read is not seen.  The descriptor is the caller's to close; -1. */
int sight_open(struct disk *, struct range area, const struct rangeset *seen, struct err *);

#endif /* IMAGEUNZIP_INSTALL_SIGHT_H */
