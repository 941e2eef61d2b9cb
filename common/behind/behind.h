/* behind.h: who claims the space behind a filesystem or behind the last partition.
 *
 * Whoever lets a partition or a filesystem grow, ends it earlier, or leaves out what lies
 * behind it asks here first.  What is recognised (end_signature.h) has an owner, whose data must
 * not be grown over or cut off; unknown data may be worth nothing, and is named.
 */
#ifndef COMMON_BEHIND_BEHIND_H
#define COMMON_BEHIND_BEHIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/behind/end_signature.h"
#include "common/disk/ptable.h"
#include "common/disk/rangeset.h"

/* Unknown data is looked for in as much of the end of a disk or partition, and imagezip
 * keeps as much of a disk. */
enum { BEHIND_END_SECTORS = (16 << 20) / SECTOR_BYTES };

struct behind {
	struct end_signature owned[END_SIGNATURES_MAX]; /* what is recognised */
	size_t n;
	/* Sectors of the disk from the first to the last of which nothing else is known
	 * than that they are not zero; len 0: there are none. */
	struct range unknown;
};

/* Find what lies behind sector `from` of an area of a disk: a partition whose filesystem
 * ends there, or the disk whose last partition does.  Unknown data is looked for in the
 * first MiB behind `from` and in the last 16 MiB of the area, but not in the sectors of
 * `own`, which are the partition table's (NULL: none); a copy of the area's first sector
 * in its last one, as NTFS has, is the filesystem's.  What cannot be read is not found.
 * ERR_NOMEM. */
int behind_find(struct behind *, struct disk *, struct range area, uint64_t from,
    const struct rangeset *own, struct err *);
/* Where the recognised claims begin: the first of their sectors; UINT64_MAX: there are
 * none. */
uint64_t behind_owned_from(const struct behind *);
/* Write what is recognised for people: "a VHD footer (sectors 409600 to 409600)".
 * Returns buf. */
const char *behind_owned_text(const struct behind *, char *buf, size_t cap);
/* The same of the unknown data: "unknown data (sectors 409344 to 409599)". */
const char *behind_unknown_text(const struct behind *, char *buf, size_t cap);

/* The end of the last partition of a table, in sectors; 0: it has none. */
uint64_t behind_partitions(const struct ptable *);

enum { BEHIND_WHERE_CAP = 40 };

/* Is a system suspended on this disk: in swap space or, as Windows, in a file of NTFS, in
 * one of its partitions, in a volume of LVM there or, without partitions, on all of it?
 * It goes on with what it knew of every filesystem, so none of them may be resized.
 * where: "in partition 3" or "on the disk".  What cannot be read holds none. */
bool behind_suspended(
    struct disk *, const struct ptable *, char where[BEHIND_WHERE_CAP]);

#endif /* COMMON_BEHIND_BEHIND_H */
