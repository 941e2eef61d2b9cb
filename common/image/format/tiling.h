/* tiling.h: whether the chunks of an image cover every sector of it exactly once.
 * The images of all tools do, except version 1, in which it is not known to which
 * chunk a hole belongs.  Otherwise chunks are missing or are there twice.  The
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
	bool silent;           /* version 1 */
	bool misnumbered;      /* a chunk is not at the place that its number says */
};

void tiling_init(struct tiling *);
void tiling_free(struct tiling *);
/* Chunk `number` of the image has this header.  ERR_NOMEM. */
int tiling_add(
    struct tiling *, uint32_t number, const struct ndz_header *, struct err *);
/* When all came: ERR_FORMAT when sectors are two chunks', or nobody's and the chunks'
 * numbers have a gap as well.  A gap alone loses nothing that ever was in the image:
 * then 0, and *gap is the first one (of no length: there is none). */
int tiling_check(struct tiling *, struct range *gap, struct err *);
/* tiling_check() when only the chunks came that answer for some of these sectors.  It
 * cannot tell whether the last of them came. */
int tiling_check_within(
    struct tiling *, struct range sectors, struct range *gap, struct err *);

#endif /* COMMON_IMAGE_FORMAT_TILING_H */
