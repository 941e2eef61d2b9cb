/* fit.h: an installation whose partitions go where a plan says (--fit).
 *
 * The plan is made when the image's table is known, and becomes the maps of the target:
 * one for what lies in front of the first partition, and one for each partition.  What
 * lies elsewhere is not installed.  The new table is written when all else is there; in a rehearsal to a
 * disk that drops what is written.
 */
#ifndef IMAGEUNZIP_INSTALL_FIT_H
#define IMAGEUNZIP_INSTALL_FIT_H

#include "common/layout/fitplan.h"
#include "imageunzip/install/install_impl.h"
#include "imageunzip/install/target_finish.h"

struct fit;

/* Begin it, if it is asked for.  ERR_UNSUPPORTED: the target has no size; ERR_NOMEM. */
int fit_begin(struct install *, struct err *);
void fit_free(struct fit *); /* NULL is fine */
/* Learn the table from a chunk, and make the plan when the table is known.  ERR_REFUSED,
 * ERR_UNSUPPORTED: there is no plan for the image on this target; ERR_FORMAT: the user's
 * plan is wrong. */
int fit_learn(struct install *, uint32_t number, const struct chunk *, const void *bytes,
    struct err *);
/* fit_learn() when no other chunk can be asked for: chunk 0 must have all of the table. */
int fit_learn_alone(
    struct install *, uint32_t number, const void *bytes, struct err *);
/* Is a chunk with this sector needed?  No chunk has it: fit_cannot(). */
bool fit_needs(struct fit *, uint64_t *sector);
int fit_cannot(struct install *, uint64_t sector, struct err *);
const struct fitplan *fit_plan(const struct fit *); /* NULL: it is not made yet */
/* Is there a place for all that a chunk stores of partitions?  ERR_REFUSED. */
int fit_check_header(const struct place *, const struct ndz_header *, struct err *);
/* When the plan is made: compare with the target how far filesystems reach in their new
 * places. ERR_REFUSED. */
int fit_check_reach(struct place *, const struct ext *, struct err *);
/* List the partitions where they are now, and in which of them `cover` has something
 * stored. Returns 1 as areas_of_disk() does, or -1. */
int fit_areas(const struct fit *, struct free_space *, struct areas *, struct err *);
/* When all is written: adapt what depends on its place, and write the table.  ERR_REFUSED:
 * a system is suspended on the disk. */
int fit_finish(struct target_finish *, struct disk *view, struct err *);

#endif /* IMAGEUNZIP_INSTALL_FIT_H */
