/* ending.h: what is known to lie at the end of a disk or of a partition, behind what
 * is in it: metadata of arrays, mirrors and the like.
 *
 * Not what owns a partition (foreign.h asks that): these leave the beginning alone, so
 * a partition table or a filesystem in front of them is good.
 */
#ifndef IMAGEZIP_CAPTURE_ENDING_H
#define IMAGEZIP_CAPTURE_ENDING_H

#include <stddef.h>
#include <stdint.h>

#include "common/disk/disk.h"
#include "common/disk/range.h"
#include "common/image/format/ext_tail.h"

enum { ENDINGS_MAX = TAIL_KINDS };

struct ending {
	enum tail_kind kind;
	/* Of the disk, inside the area: from where the metadata begins to its end, as
	 * far as that is known, else to the end of the area. */
	struct range sectors;
};

/* Find what lies at the end of the area, behind its sector `floor`: a signature in front of
 * the floor does not count, and a range that would begin there begins at the floor.
 * Returns how many were found.  What cannot be read is not recognised. */
size_t ending_find(struct disk *, struct range area, uint64_t floor,
    struct ending found[ENDINGS_MAX]);
/* What lies directly behind a filesystem that ends at sector `from` of the area: as
 * ending_find(), which it includes. */
size_t ending_find_behind(struct disk *, struct range area, uint64_t from,
    struct ending found[ENDINGS_MAX]);

#endif /* IMAGEZIP_CAPTURE_ENDING_H */
