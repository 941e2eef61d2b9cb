/* rehearsal.h: rehearses an installation without writing (--dry-run).
 *
 * An installation runs as it always does, on a disk that reads as the target would after the
 * installation, and drops every write: what the image stores is read from the image,
 * everything else from the target. Therefore a rehearsal refuses what the real run
 * refuses before it writes, and finds the old signatures that the real run would wipe.
 * install_sink.h has the sink.
 */
#ifndef IMAGEUNZIP_INSTALL_REHEARSAL_H
#define IMAGEUNZIP_INSTALL_REHEARSAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "common/image/format/format.h"
#include "imageunzip/install/install.h"

/* Where the image's data is read from. */
struct rehearsal_source {
	/* Read sectors, all of which the image stores, counted from its sector 0. */
	int (*read)(void *arg, struct range, void *buf, struct err *);
	void *arg;
	uint64_t sectors; /* sectors that the image answers for */
	uint64_t needed;  /* sectors that the target must have, at least */
};

struct rehearsal_part {
	unsigned number; /* 0: a partition of a disklabel, or there is no table */
	bool inside;     /* a partition of a disklabel, in the partition before it */
	bool left_out;   /* the image stores nothing of it; only with `whole` */
	struct range sectors;
	uint64_t stored; /* sectors that the image stores; only with `whole` */
};

struct rehearsal_found {
	enum disk_kind kind;
	bool whole;         /* all chunks were seen; members marked (whole) are valid */
	uint32_t chunks;    /* of the image */
	uint64_t needed;    /* sectors that the target must have, at least (whole) */
	uint64_t image_bytes;  /* of the disk that the image is of, 0: not known */
	char filesystems[256]; /* its partitions, as the image describes them, or "" */
	bool fresh;            /* a file is made */
	bool replaces;         /* the file replaces an existing one */
	uint64_t target_bytes; /* of the disk, or of the partition; UINT64_MAX: unlimited */
	uint64_t stored;       /* sectors that the image stores (whole) */
	bool table;            /* the partition table could be read */
	size_t nparts;
	struct rehearsal_part *parts; /* owned */
	uint64_t outside;             /* sectors that are stored outside all partitions (whole) */
	unsigned stale;               /* old signatures that would be wiped (whole) */
};

/* Open the target as install_open() does, but nothing is made, emptied or written; the
 * state (--state) is left alone, and what is there is not compared (--skip-same,
 * --read-back).  install_finish() fills *found, which rehearsal_found_free() frees;
 * messages about what would be done go to the configuration's say().  Errors are those of
 * the real run. */
int rehearsal_open(struct install **, const struct install_config *, const char *target,
    const struct rehearsal_source *, struct rehearsal_found *, struct err *);
/* Fill *found with what chunk 0 tells, when no other chunk is available. */
int rehearsal_early(struct install *, const void *chunk0, struct err *);
/* For install_finish(): find the partitions. */
int rehearsal_end(struct install *, struct err *);
/* After rehearsal_end(): the table would change so; of a partition that would grow, *found has the
 * new length. */
struct ptable_change;
void rehearsal_grown(struct install *, const struct ptable_change *);
/* Free what was found. */
void rehearsal_found_free(struct rehearsal_found *);

#endif /* IMAGEUNZIP_INSTALL_REHEARSAL_H */
