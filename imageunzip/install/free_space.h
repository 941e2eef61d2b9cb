/* free_space.h: knows which free space may be filled because it belongs to the image.
 *
 * A chunk answers for an interval of sectors, and a partition that was left out of the
 * image lies in such an interval like any free space. Therefore -z, -p and --discard fill
 * what a chunk leaves free only where it is known that the image stores something of the
 * partition around it; doubtful space waits until all chunks, which come in any order,
 * are there. With --zero-all, all that no chunk stores is filled.
 *
 * A new file and a pipe hold nothing that could be kept, so all free space is filled.
 */
#ifndef IMAGEUNZIP_INSTALL_FREE_SPACE_H
#define IMAGEUNZIP_INSTALL_FREE_SPACE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/ptable.h"
#include "common/disk/rangeset.h"
#include "common/image/read/chunk.h"
#include "common/target/areas.h"
#include "imageunzip/install/target.h"

/* All ranges are in sectors, counted from the image's sector 0. */
struct free_space {
	pthread_mutex_t lock; /* guards all members below */
	bool all;             /* partitions that were left out are filled, too */
	bool asked;           /* free space is to be filled, and can hold something */
	bool known;           /* `areas` are known, by the image's own table */
	struct areas areas;
	struct rangeset stored; /* what the chunks noted so far store */
	struct rangeset owed;   /* free space that is not filled yet */
};

/* Begin with nothing that is free, and free the members. */
void free_space_init(struct free_space *);
void free_space_free(struct free_space *);
/* Tell the target, before the first chunk. */
void free_space_attach(struct free_space *, const struct target *);
/* Is the whole chunk needed that begins with sector 0? */
bool free_space_wants_table(struct free_space *, const struct ndz_header *);
/* Learn the partitions of the image from that chunk. ERR_FORMAT, ERR_NOMEM. */
int free_space_learn(struct free_space *, const struct target *, const struct chunk *,
    const void *bytes, struct err *);
/* Instead of free_space_learn(), before the first chunk: what is installed is one partition,
 * which begins at sector 0. ERR_NOMEM. */
int free_space_learn_one(struct free_space *, const struct area *partition, struct err *);
/* Note that the image stores these sectors of the target, whether they are written now or
 * were written before. ERR_NOMEM. */
int free_space_note(struct free_space *, struct range stored, struct err *);
/* Fill the free sectors [from, to) of a chunk that was noted and written, as the target's
 * configuration says. *owes becomes true when some of these sectors must wait. */
int free_space_fill(struct free_space *, struct target *, uint64_t from, uint64_t to, bool *owes,
    struct err *);
/* Find, when all chunks were written, the partitions of the tables that are on the disk
 * now, and in which of them the image stores something. view: that disk; grown: a
 * partition that will be enlarged, or NULL. Errors are those of areas_of_disk(). Seals
 * `stored`. */
int free_space_areas(struct free_space *, const struct target *, struct disk *view,
    unsigned sector_bytes, const struct ptable_change *grown, struct areas *,
    struct err *);
/* Fill, after free_space_areas(), the free space that waited, and the target behind the last
 * chunk, except the sectors of the disk in `left`. *passed: how many sectors that waited
 * lie in `left`. */
int free_space_fill_rest(struct free_space *, struct target *, const struct rangeset *left,
    uint64_t *passed, struct err *);

#endif /* IMAGEUNZIP_INSTALL_FREE_SPACE_H */
