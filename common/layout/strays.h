/* strays.h: looks at the space outside of partitions that is left out of an image: what
 * is recognised there is kept, and of the rest a sample is read. */
#ifndef COMMON_LAYOUT_STRAYS_H
#define COMMON_LAYOUT_STRAYS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "common/disk/ptable.h"
#include "common/disk/rangeset.h"

/* Counts are in sectors. */
struct strays {
	char found[300];       /* what was recognised, and where; "": nothing */
	uint64_t kept;         /* of what was recognised */
	uint64_t floor;        /* where it ends; 0: nothing was recognised */
	uint64_t sampled;      /* blocks of 4 KiB that were read, one in each 64 MiB */
	uint64_t sampled_data; /* those of them that are not zero */
	uint64_t first_data;   /* the first sector of the first of those */
};

/* Look for signatures where the space outside of partitions begins, and where libblkid
 * looks from the end of the disk.  What is recognised is removed from *skip (s->kept),
 * which holds the sectors outside of partitions that are left out; keep false: it is
 * only named.  ERR_NOMEM, ERR_CANCELLED. */
int strays_recognise(struct strays *, struct disk *, const struct ptable *,
    uint64_t total, bool keep, struct rangeset *skip, struct err *);
/* Read one block of 4 KiB in each 64 MiB of *skip in front of sector `end`; of a file,
 * only where it has data. */
void strays_sample(
    struct strays *, struct disk *, const struct rangeset *skip, uint64_t end);

#endif /* COMMON_LAYOUT_STRAYS_H */
