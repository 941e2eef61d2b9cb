/* volume.h: a physical volume of LVM fills its partition, and one volume of its group, with
 * the filesystem in it, gets the room.
 *
 * Commands of LVM see the partition alone (lvm --devices), and neither the groups of the
 * machine nor its devices file.  Before the first change, the group gets a tag, which
 * names the volume and the extents that were free before, so that a later run finishes
 * what an interrupted one has begun: "growfs/root/0".  The volume is active only
 * meanwhile.
 */
#ifndef COMMON_RESIZE_VOLUME_H
#define COMMON_RESIZE_VOLUME_H

#include "common/resize/follow.h"

#define VOLUME_TYPE "LVM2_member"

/* Has a run begun to grow a volume of the group in these bytes of the disk, and not finished?
 * Old metadata may say so, too. */
bool volume_is_begun(const char *disk, struct range bytes);
/* Grow the physical volume that is on the device `path`.  Writes fs and volume* of the
 * part.  ERR_IO: a command failed. */
int volume_grow(
    const struct follow *, struct follow_part *, const char *path, struct err *);

#endif /* COMMON_RESIZE_VOLUME_H */
