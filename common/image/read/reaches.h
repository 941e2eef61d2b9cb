/* reaches.h: how far partitions and filesystems reach (ext_reach.h), found out from a
 * disk. */
#ifndef COMMON_IMAGE_READ_REACHES_H
#define COMMON_IMAGE_READ_REACHES_H

#include <stdbool.h>

#include "common/disk/disk.h"
#include "common/disk/rangeset.h"
#include "common/image/format/ext_reach.h"

/* Look for the superblock of a filesystem in the first n bytes of a partition, and put
 * its name, length and sectors into a part; one that calls itself longer than its
 * partition is as long as this.  False: there is none. */
bool reaches_recognise(
    const void *head, size_t n, uint64_t part_sectors, struct reach_part *);
/* reaches_recognise() for sectors `at` of a disk.  False also when it cannot be read
 * there. */
bool reaches_look(struct disk *, struct range at, struct reach_part *);
/* Add the partitions inside of a BSD slice, whose own part says where it lies in the
 * image; `at`: where it lies on the disk. */
void reaches_look_inside(
    struct reach *, struct disk *, struct range at, const struct reach_part *slice);

/* Find the partitions of a disk that something is read from, and of which something is in
 * `stored`, which counts from sector 0 of the disk, as the parts do; or the filesystem
 * that takes all of it.  What cannot be read is not there. */
void reaches_of_disk(struct reach *, struct disk *, const struct rangeset *stored);

#endif /* COMMON_IMAGE_READ_REACHES_H */
