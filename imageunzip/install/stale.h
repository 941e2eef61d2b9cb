/* stale.h: signatures that an earlier use of the disk left in space that the
 * image leaves free: an old backup GPT, RAID, LVM, ZFS or filesystem superblocks.
 * Tools would take them for something that is there. */
#ifndef IMAGEUNZIP_INSTALL_STALE_H
#define IMAGEUNZIP_INSTALL_STALE_H

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "common/disk/rangeset.h"
#include "imageunzip/install/areas.h"

/* All sectors are the disk's. */
struct stale {
	struct disk *disk;       /* as it will stand; read and written */
	struct range slice;      /* the target, or of no length: the whole disk */
	struct range head;       /* what stands there later than all else, or nothing */
	const struct rangeset *stored; /* by the image */
	const struct areas *areas; /* the partitions */
	const struct rangeset *left; /* somebody's: neither searched nor written */
	unsigned sector_bytes;   /* of the disk */
	const char *did;         /* "wiped", for the sentences */
	void (*say)(const char *sentence); /* a line for each kind; or NULL */
	unsigned wiped;                    /* how many */
};

/* Wipe them, in the target's slice, or, where there is none, on the whole disk and in
 * each of its partitions of which the image has something. */
int stale_wipe(struct stale *, struct err *);

#endif /* IMAGEUNZIP_INSTALL_STALE_H */
