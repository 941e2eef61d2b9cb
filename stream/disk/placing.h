/* placing.h: the places of an image's partitions on a streaming disk, by a plan: the partitions are as
 * large together as the disk (--fit).
 *
 * The plan is made when a disk begins.  What is kept of it, in the header of the sector table, are the
 * maps of the image's sectors to those of the disk.  The sector table and all that a client sees count
 * sectors of the disk; the source, orders and records count those of the image (struct streamed has
 * the maps).  The partition table, and what names its place in partitions that move, are written to
 * the disk as a client would write them, when it begins.
 *
 * Partitions end in front of the place of the sector table, also when the disk is complete.
 */
#ifndef STREAM_DISK_PLACING_H
#define STREAM_DISK_PLACING_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/maps.h"
#include "common/disk/ptable.h"
#include "common/image/format/ext_reach.h"
#include "common/layout/fitplan.h"

struct areas;
struct export;
struct streamed;

struct placing {
	struct ptable table; /* of the image's disk */
	struct fitplan plan;
	bool stays[PTABLE_PARTS_MAX]; /* the i-th partition of the plan keeps its length all the same */
	struct maps maps;
	uint64_t table_at; /* the sector of the disk at which a table on it begins */
};

/* Make a plan for this disk; room: for a sector table behind the partitions, too.  Nothing is written.
 * ERR_REFUSED: the disk is too small, since no partition becomes shorter; ERR_UNSUPPORTED: the image's
 * partitions cannot be planned; errors of reading the source; ERR_NOMEM. */
int placing_make(struct placing **, struct export *source, struct disk *, bool room, struct err *);
void placing_free(struct placing *); /* NULL is allowed */
/* How far the image's filesystems reach on the disk. */
void placing_reach(const struct placing *, const struct reach *images, struct reach *);
/* Move areas of the image's disk to where they are on the disk. */
void placing_areas(const struct placing *, struct areas *);
/* Before the disk is written to: look whether it can be written as planned, and say what changes.
 * ERR_REFUSED: a system is suspended in the image; ERR_UNSUPPORTED: the table cannot be written;
 * errors of reading the source. */
int placing_check(struct placing *, struct streamed *, struct err *);
/* Write what differs from the image.  Errors of streamed_write(). */
int placing_write(const struct placing *, struct streamed *, struct err *);

#endif /* STREAM_DISK_PLACING_H */
