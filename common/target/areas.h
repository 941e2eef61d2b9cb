/* areas.h: the partitions of a disk, and the partitions of a disklabel inside them, and
 * whether the image stores anything of each.
 *
 * A partition of which an image stores nothing was left out (imagezip -I): it may hold a
 * user's data, although chunks answer for its sectors. The image's own table tells early
 * where the partitions are; the table on the disk tells it at the end.
 */
#ifndef COMMON_TARGET_AREAS_H
#define COMMON_TARGET_AREAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "common/disk/ptable.h"
#include "common/disk/rangeset.h"
#include "common/image/read/chunk.h"

struct area {
	struct range sectors;
	uint64_t more;   /* sectors behind these by which it will grow (--grow) */
	unsigned number; /* of the partition in the table, or 0 */
	bool inside;     /* a partition of a disklabel, inside another area */
	/* Of type 0, and it shares sectors with other partitions or with the table: those
	 * are not its own, and it may have been left out although they are stored. */
	bool shares;
	bool some;       /* the image stores something of it */
	bool unsure;     /* it may have a disklabel, which could not be read */
};

struct areas {
	size_t n, cap;
	/* Owned: the partitions; the partitions inside a partition follow it. A disk
	 * without a table is one area. */
	struct area *a;
	struct rangeset table; /* its sectors, if an area shares some with others */
};

/* Make an empty list, and free one, which is empty afterwards. */
void areas_init(struct areas *);
void areas_free(struct areas *);

/* Add an area; one that lies inside another comes behind it.  ERR_NOMEM. */
int areas_add(struct areas *, struct area, struct err *);
/* Find the areas of a disk as it is, or of one partition of it (`within`; of no length: the
 * whole disk), in sectors of the disk. `stored`: what the image stores, in the same
 * sectors.  sector_bytes: of the disk that the table was made for; 0: this disk's.  Returns
 * 1; 0: there is a table that cannot be read, so the areas are not known; -1. */
int areas_of_disk(struct areas *, struct disk *, struct range within,
    unsigned sector_bytes, const struct rangeset *stored, struct err *);
/* Find the areas of the disk that an image was made of, in sectors of the image, by the
 * first MiB in the chunk that begins with sector 0. The chunk is whole, and not yet
 * proved. `whole`: the image is of a whole disk, with a table; disk_bytes: its size,
 * where the image does not say. Returns as areas_of_disk(). `some` is false in all areas. */
int areas_of_image(struct areas *, const struct chunk *, const void *bytes, bool whole,
    uint64_t disk_bytes, struct err *);
/* May a partition have a disklabel with others inside it?  filesystems: the image's
 * description of its partitions, or NULL. */
bool areas_may_have_label(const struct partition *, const char *filesystems);
/* The last partition is to reach to this sector.  What the image stores behind the
 * partition's present end, the old backup of a GPT, does not belong to the partition. */
void areas_grow_last(struct areas *, uint64_t end);
/* Note that the image stores this range. */
void areas_note(struct areas *, struct range stored);
/* Add the sectors of all areas of which the image stores nothing; with `unsure`, also
 * of those that may have others inside them.  ERR_NOMEM. */
int areas_left_out(
    const struct areas *, bool unsure, struct rangeset *out, struct err *);

#endif /* COMMON_TARGET_AREAS_H */
