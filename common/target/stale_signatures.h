/* stale_signatures.h: wipes signatures that an earlier use of the disk left in space that
 * the image leaves free: an old backup GPT, RAID, LVM, ZFS or filesystem superblocks.
 * Without this, tools would take them for valid. */
#ifndef COMMON_TARGET_STALE_SIGNATURES_H
#define COMMON_TARGET_STALE_SIGNATURES_H

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "common/disk/rangeset.h"
#include "common/target/areas.h"

/* All sectors are the disk's. */
struct stale_signatures {
	/* The disk as it will be when it is complete (target_view.h); read and written. */
	struct disk *disk;
	struct range slice;      /* the target, or of no length: the whole disk */
	struct range boot_area;  /* the deferred boot area, or of no length */
	const struct rangeset *stored; /* sectors that the image stores */
	const struct areas *areas; /* the partitions */
	const struct rangeset *left; /* sectors left to others: neither searched nor written */
	unsigned sector_bytes;   /* of the disk */
	const char *did;         /* "wiped", for the sentences */
	void (*say)(const char *sentence); /* called with a line for each kind; or NULL */
	unsigned wiped;                    /* number of signatures that were wiped */
};

/* Wipe stale signatures in the slice, or, without a slice, on the whole disk and in each
 * of its partitions of which the image stores something. Sets `wiped`. Errors of reading
 * and writing. */
int stale_signatures_wipe(struct stale_signatures *, struct err *);

#endif /* COMMON_TARGET_STALE_SIGNATURES_H */
