/* fitplan.h: where the partitions of an image's table go on a disk of another size.
 *
 * A plan is arithmetic only: nothing is read or written.  fitplan_begin() takes what is known
 * of the image and of the target, fitplan_make() finds the places, or fitplan_take() takes them
 * from a document of the user's, and fitplan_check() says whether the places can be used.
 *
 *  - The order stays, and the first partition keeps its first sector.
 *  - Partitions whose filesystem no tool enlarges, or whose length is no matter of the
 *    disk's, keep their length.  The others share what is left, in the proportion of what
 *    they had.
 *  - What lies behind a partition that changes moves, and begins at a multiple of 1 MiB.
 *  - No partition becomes shorter than what is in it.
 *  - In an MBR, a partition of Windows keeps its first sector: Windows is started by it.
 */
#ifndef COMMON_LAYOUT_FITPLAN_H
#define COMMON_LAYOUT_FITPLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/base/json.h"
#include "common/disk/ptable.h"
#include "common/image/format/ext_reach.h"

enum {
	PLAN_ALIGN_SECTORS = (1 << 20) / SECTOR_BYTES,
	/* The record of a logical partition that moves lies so far in front of it. */
	PLAN_EBR_SECTORS = PLAN_ALIGN_SECTORS,
	PLAN_DOCUMENT_MAX = 1 << 20, /* bytes of a document of the user's */
};

struct fitplan_part {
	unsigned number;
	struct range was, is; /* in the image, on the target; sectors of 512 bytes */
	uint64_t least;       /* sectors: it must not become shorter */
	bool shares;          /* it gets a share of what is left */
	bool pinned;          /* it keeps its first sector */
	bool logical;
	char fs[REACH_NAME_BYTES + 1]; /* "": not known */
	const char *why;      /* for people: why its length is fixed, or that it shares */
};

struct fitplan {
	uint64_t from_sectors, sectors; /* of the image's disk, of the target */
	uint64_t end;   /* the first sector behind the room for partitions */
	uint64_t table_end; /* sectors that the table needs behind the partitions */
	uint64_t unit;  /* borders are multiples of this number of sectors */
	uint64_t least; /* sectors that a target must have, at least */
	bool mbr;
	bool compact;   /* gaps between partitions are closed */
	unsigned n;
	struct fitplan_part parts[PTABLE_PARTS_MAX]; /* as they lie on the image's disk */
};

/* What is known of an image. */
struct fitplan_source {
	const struct ptable *table;
	const struct reach *reach; /* what the image says of its filesystems, or NULL */
	uint64_t sectors;          /* of the image's disk */
	/* How many sectors of a partition, from its first one on, the image stores; NULL: it
	 * is not known, and then no partition becomes shorter than it was. */
	uint64_t (*stored)(void *arg, struct range partition);
	void *arg;
};

/* Begin a plan for a target of so many sectors, which are of sector_bytes (512 or 4096)
 * each.  ERR_UNSUPPORTED: the table is not one that can be planned; ERR_REFUSED: a
 * partition belongs to something that would lose it. */
int fitplan_begin(struct fitplan *, const struct fitplan_source *, uint64_t sectors,
    unsigned sector_bytes, struct err *);
/* Find the places.  ERR_REFUSED: the target is too small; plan->least says how large one
 * must be. */
int fitplan_make(struct fitplan *, struct err *);
/* Take the places from a document of the user's: JSON with an array "partitions" of
 * objects with "number", "first_sector" and "sectors"; other members are passed over.
 * `name` is for errors.  ERR_FORMAT: it is no such document, has a partition twice or one
 * that the image does not have, or lacks one. */
int fitplan_take(struct fitplan *, const char *text, size_t len, const char *name, struct err *);
/* Can the places be used?  force: a partition of Windows may move.  ERR_REFUSED. */
int fitplan_check(const struct fitplan *, bool force, struct err *);

/* Does the partition begin at another sector, or is anything of the table another? */
bool fitplan_moves(const struct fitplan_part *);
bool fitplan_changes(const struct fitplan *);
/* A number that two plans have in common only when they are the same. */
uint64_t fitplan_hash(const struct fitplan *);
/* Print it for people, as lines; as members of an object of a document, which
 * fitplan_take() reads. */
void fitplan_print(const struct fitplan *);
void fitplan_json(const struct fitplan *, struct json *);

#endif /* COMMON_LAYOUT_FITPLAN_H */
