/* disk_tail.h: the tail of a disk, behind its last partition: decides which parts of it are
 * kept, and counts what is left out of the space outside the partitions. */
#ifndef COMMON_LAYOUT_DISK_TAIL_H
#define COMMON_LAYOUT_DISK_TAIL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "common/disk/ptable.h"
#include "common/disk/rangeset.h"
#include "common/image/format/ext_tail.h"
#include "common/layout/strays.h"

/* The space outside of all partitions; counts are in sectors. */
struct outside {
	struct tail tail; /* for the image; no pieces: nothing is kept */
	uint64_t stored[TAIL_PIECES_MAX]; /* sectors of each piece that are stored */
	uint64_t left_out;      /* read, not zero, and not kept; left_text names it */
	char left_text[300];
	uint64_t unreadable;    /* sectors of the disk's end that cannot be read; left out */
	uint64_t not_looked_at; /* left out without having been read, but for a sample */
	struct strays strays;
};

struct disk_tail_search {
	uint64_t floor;             /* where the tail begins, behind all partitions */
	const struct rangeset *own; /* the table's sectors */
	uint64_t total;       /* sectors of the disk */
	uint64_t boot_end;    /* sectors in front of this are for boot loaders */
	bool keep;            /* keep the tail; false: only count it */
};

/* Remove the place of a backup GPT that is not there from the table's own sectors.
 * ERR_NOMEM. */
int disk_tail_drop_missing_backup(struct rangeset *own, const struct ptable *,
    struct disk *, uint64_t total, struct err *);
/* Look at the disk's last 16 MiB behind all partitions, and at what is recognised there.
 * Data that is not known is kept from its first block that is not zero to the end of the
 * disk, zeros included: checksums are computed over them. What is kept is removed from
 * *skip, which holds the sectors outside of partitions that are left out. The members of
 * struct outside that others write stay as they are. ERR_NOMEM. */
int disk_tail_find(struct outside *, struct disk *, const struct disk_tail_search *,
    struct rangeset *skip, struct err *);
/* The sector from which on disk_tail_find() reads all of the space behind the partitions. */
uint64_t disk_tail_looked_from(const struct disk_tail_search *);
/* Compute, when it is known what is stored, how much of it each piece has, and how large
 * a disk must be for everything else. */
void disk_tail_settle(struct outside *, const struct rangeset *store);

#endif /* COMMON_LAYOUT_DISK_TAIL_H */
