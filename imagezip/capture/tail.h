/* tail.h: the tail of a disk, behind its last partition: which parts of it are kept,
 * and which parts of the space outside the partitions are not; and the tail of a
 * partition, behind its filesystem. */
#ifndef IMAGEZIP_CAPTURE_TAIL_H
#define IMAGEZIP_CAPTURE_TAIL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "common/disk/ptable.h"
#include "common/disk/rangeset.h"
#include "common/image/format/ext_tail.h"

/* Of the space outside of all partitions; in sectors. */
struct outside {
	struct tail tail; /* for the image; no pieces: nothing is kept */
	uint64_t stored[TAIL_PIECES_MAX]; /* of each piece */
	uint64_t left_out;      /* looked at, not zero, and not kept, namely: */
	char left_text[300];
	uint64_t unreadable;    /* of the disk's end; left out */
	uint64_t not_looked_at; /* left out, whatever it holds */
};

struct tail_search {
	const struct ptable *table;
	const struct rangeset *own; /* the table's sectors */
	uint64_t total;       /* sectors of the disk */
	uint64_t boot_end;    /* what is in front of this is the boot loader's */
	bool keep;            /* else it is only counted */
};

/* The table's own sectors, without the place of a backup GPT that is not there. */
int tail_drop_missing_backup(struct rangeset *own, const struct ptable *,
    struct disk *, uint64_t total, struct err *);
/* Look at the disk's last 16 MiB behind all partitions, and at what is recognised
 * there.  What is to be kept is taken out of *skip, which holds what is left out
 * outside of partitions.  ERR_NOMEM. */
int tail_find(struct outside *, struct disk *, const struct tail_search *,
    struct rangeset *skip, struct err *);
/* When it is known what is stored: compute how much of it the pieces have, and how
 * large a disk must be for everything else. */
void tail_settle(struct outside *, const struct rangeset *store);

/* -x: how many sectors behind a filesystem that ends at sector `from` of its partition
 * can be left out.  Metadata that is recognised there is the partition's, as the
 * superblock of a mirror. */
uint64_t tail_slack(struct disk *, struct range part, uint64_t from);

#endif /* IMAGEZIP_CAPTURE_TAIL_H */
