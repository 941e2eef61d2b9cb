/* tiling.h: whether the chunks of an image cover every sector of it exactly once.
 * The chunks of all tools' images do, except in version 1, in which it is not known to which
 * chunk a hole belongs.  Where they do not, chunks are missing or are there twice.  The
 * chunks may come in any order. */
#ifndef COMMON_IMAGE_FORMAT_TILING_H
#define COMMON_IMAGE_FORMAT_TILING_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/rangeset.h"
#include "common/image/format/format.h"

struct tiling {
	struct rangeset spans; /* what chunks answer for */
	uint64_t sectors;      /* the sum of the lengths of all spans */
	bool silent;           /* the image is of version 1, so nothing is checked */
	bool misnumbered;      /* a chunk is not at the place that its number says */
};

/* Begin without chunks; tiling_free() frees what was collected. */
void tiling_init(struct tiling *);
void tiling_free(struct tiling *);
/* Add chunk `number` of the image, which has this header.  ERR_NOMEM. */
int tiling_add(
    struct tiling *, uint32_t number, const struct ndz_header *, struct err *);
/* Check the chunks after all were added.  ERR_FORMAT: sectors belong to two chunks, or they
 * belong to no chunk and the numbers of the chunks have a gap as well.  When only sectors
 * have a gap, nothing that ever was in the image is lost: 0 is returned, and *gap is the
 * first gap.  Its length is 0 when there is none. */
int tiling_check(struct tiling *, struct range *gap, struct err *);
/* tiling_check() when only the chunks were added that answer for some of these sectors.  It
 * cannot tell whether the last of these chunks was added. */
int tiling_check_within(
    struct tiling *, struct range sectors, struct range *gap, struct err *);

#endif /* COMMON_IMAGE_FORMAT_TILING_H */
