/* by_plan.h: what differs on a disk whose partitions go where a plan says (fitplan.h): where the
 * sectors of the image go, the partition table, and what in partitions names their places.
 * imageunzip, frisbee and dolly (--fit) and streaming disks use it.
 */
#ifndef COMMON_TARGET_BY_PLAN_H
#define COMMON_TARGET_BY_PLAN_H

#include <stdbool.h>

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "common/disk/maps.h"
#include "common/disk/ptable.h"
#include "common/layout/fitplan.h"

/* All is borrowed. */
struct by_plan {
	const struct fitplan *plan;
	const struct ptable *table; /* of the image's disk */
	/* Was this partition left out when the image was made? */
	bool (*left_out)(void *arg, unsigned number);
	/* Called with a sentence that names a partition. */
	void (*warn)(void *arg, const char *sentence);
	void *arg;
};

/* Add the maps: one for what lies in front of the first partition, and one for each partition.
 * Errors of maps_add(). */
int by_plan_maps(const struct fitplan *, struct maps *, struct err *);
/* Find the partitions that get longer, but whose end must stay: metadata at the end of a partition,
 * of an array for example, is not found any more when the partition ends elsewhere.  `disk` has
 * the partitions where they are by the plan; was: where they were.  One of them is warned of.
 * stays[i]: of the i-th partition of the plan. */
void by_plan_stays(const struct by_plan *, struct disk *, bool was, bool stays[PTABLE_PARTS_MAX]);
/* Write the table that is on the disk `from`; `stays`: partitions that keep their length, or NULL.
 * Errors of ptable_place(). */
int by_plan_table(const struct by_plan *, struct disk *to, struct disk *from, const bool *stays,
    struct err *);
/* Open a disk as long as this one that forgets what is written, for a trial of by_plan_table(). */
int by_plan_trial(struct disk **, struct disk *, struct err *);
/* Adapt what depends on its place in the partitions that have moved: boot sectors and disklabels.
 * What cannot be adapted is warned of.  It may be done again.  Errors of reading and writing. */
int by_plan_adapt(const struct by_plan *, struct disk *, struct err *);
/* Look on the image's disk whether a system is suspended there, if the plan changes anything: it would go
 * on with the filesystems where they were.  ERR_REFUSED. */
int by_plan_awake(const struct by_plan *, struct disk *image, struct err *);
/* Set ERR_REFUSED: a system is suspended there (behind_suspended()).  Returns -1. */
int by_plan_suspended(const char *where, struct err *);

#endif /* COMMON_TARGET_BY_PLAN_H */
