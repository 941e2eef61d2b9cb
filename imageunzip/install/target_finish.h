/* target_finish.h: finishes a target when all data is on it: its partition table, its free
 * space, and what was there before. */
#ifndef IMAGEUNZIP_INSTALL_TARGET_FINISH_H
#define IMAGEUNZIP_INSTALL_TARGET_FINISH_H

#include "common/image/format/ext_tail.h"
#include "common/image/read/chunk.h"
#include "imageunzip/install/followed.h"
#include "imageunzip/install/free_space.h"
#include "imageunzip/install/target.h"

/* Called before anything of the chunk that begins with sector 0 is written: fails with
 * the ERR_UNSUPPORTED of ptable_fit() when its table is to be adapted to the disk and
 * cannot be. table_sector_bytes: as target_finish.sector_bytes. */
int target_finish_check(struct target *, const struct chunk *, const void *bytes,
    unsigned table_sector_bytes, struct err *);
/* The target to finish, and what is known of the image. */
struct target_finish {
	struct target *target;
	struct free_space *free_space; /* what the chunks stored */
	bool known;          /* `cover` has everything that the image stores */
	/* the image was made by this suite and is no delta: what it does not store is
	 * free */
	bool ours;
	/* Sector size, in bytes, of the disk that the image was made of; 0: not known. */
	unsigned sector_bytes;
	bool dry; /* only report what would be done */
	const struct tail *tail; /* of the image */
	const uint64_t *tail_sectors; /* of each piece, how many the image stores */
	struct ptable_change change; /* of --grow and the like: what became of the table */
	struct followed longer; /* what target_finish_all() has made longer */
};
/* Set the type (-D), fill the free space that waited, wipe stale signatures and adapt the
 * table, as the configuration says, while the incomplete marker stands. It may be
 * repeated after the program was killed. *stale_wiped: the number of signatures wiped. */
int target_finish_all(struct target_finish *, unsigned *stale_wiped, struct err *);
/* Have the kernel read the new partition table; a failure is a warning. */
void target_finish_tell_kernel(const struct target *);

#endif /* IMAGEUNZIP_INSTALL_TARGET_FINISH_H */
