/* moved_part.h: adapts a partition that is installed alone (--only), perhaps at another place
 * than it had: what depends on its place although the image, which is of a whole disk, has
 * no relocation for it. */
#ifndef IMAGEUNZIP_INSTALL_MOVED_PART_H
#define IMAGEUNZIP_INSTALL_MOVED_PART_H

#include <stdbool.h>
#include <stdint.h>

#include "common/image/format/format.h"
#include "imageunzip/install/target.h"

/* Does the chunk store a sector that may have to be changed because the partition
 * moves? */
bool moved_part_looks_at(const struct target *, const struct ndz_header *);
/* Adapt a BSD disklabel in data[n], which begins at byte raw_at of the chunk's data, to
 * the place where it lands. What cannot be adapted (NetBSD's label, LILO) stays as it is;
 * the configuration's warn() is called once. */
void moved_part_apply(struct target *, const struct ndz_header *, uint64_t raw_at,
    uint8_t *data, size_t n);

#endif /* IMAGEUNZIP_INSTALL_MOVED_PART_H */
