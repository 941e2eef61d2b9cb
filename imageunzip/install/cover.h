/* cover.h: which free space may be filled because it belongs to the image.
 *
 * A chunk answers for an interval of sectors, and a partition that was left out of the
 * image lies in such an interval like any free space.  So -z, -p and --discard fill what
 * a chunk leaves free only where it is known that the image stores something of the
 * partition around it; what is doubtful waits until all chunks are there.  Chunks come in
 * any order.
 *
 * A new file, and a pipe, have nothing that could be kept: all is filled there.
 */
#ifndef IMAGEUNZIP_INSTALL_COVER_H
#define IMAGEUNZIP_INSTALL_COVER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/ptable.h"
#include "common/disk/rangeset.h"
#include "common/image/read/chunk.h"
#include "imageunzip/install/areas.h"
#include "imageunzip/install/target.h"

/* All in sectors, counted from the image's sector 0. */
struct cover {
	pthread_mutex_t lock; /* of all below */
	bool asked;           /* free space is to be filled, and can hold something */
	bool known;           /* the partitions are, by the image's own table */
	struct areas areas;
	struct rangeset stored; /* what the chunks so far store */
	struct rangeset owed;   /* free space that is not filled yet */
};

void cover_init(struct cover *);
void cover_free(struct cover *);
/* The target is known now. */
void cover_attach(struct cover *, const struct target *);
/* Is the whole chunk needed that begins with sector 0? */
bool cover_wants_table(struct cover *, const struct ndz_header *);
int cover_learn(struct cover *, const struct target *, const struct chunk *,
    const void *bytes, struct err *);
/* Without such a chunk: what is installed is one partition, at sector 0.  Before the first
 * chunk.  ERR_NOMEM. */
int cover_learn_one(struct cover *, const struct area *partition, struct err *);
/* The image stores these sectors of the target, written now or before.  ERR_NOMEM. */
int cover_note(struct cover *, struct range stored, struct err *);
/* A chunk that was noted is written: fill its free sectors [from, to) as the target's
 * configuration has it.  *owes becomes true when some of it must wait. */
int cover_fill(struct cover *, struct target *, uint64_t from, uint64_t to, bool *owes,
    struct err *);
/* When all chunks were written: find the partitions of the tables that are on the
 * disk now, and those of them in which the image stores something. view: that disk;
 * grown: a partition that will be enlarged, or NULL.  Errors are those of
 * areas_of_disk().  Seals `stored`. */
int cover_areas(struct cover *, const struct target *, struct disk *view,
    unsigned sector_bytes, const struct ptable_change *grown, struct areas *,
    struct err *);
/* Then fill the free space that was left out so far, and the target behind the last
 * chunk, except the sectors of the disk in `left`.  *passed: how many sectors that
 * were to be filled lie in those. */
int cover_fill_rest(struct cover *, struct target *, const struct rangeset *left,
    uint64_t *passed, struct err *);

#endif /* IMAGEUNZIP_INSTALL_COVER_H */
