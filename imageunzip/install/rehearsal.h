/* rehearsal.h: an installation without a write (--dry-run).
 *
 * The installation's own code runs on a disk that reads as the target would when all were
 * done, and takes every write without a trace: what the image stores comes from the
 * image, all else from the target.  So it refuses what the real run refuses before it
 * writes, and finds the old signatures that the real run would wipe.
 *
 *	rehearsal_open → rehearsal_begin, rehearsal_chunk... → rehearsal_end
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
	/* Sectors that are all stored, counted from the image's sector 0. */
	int (*read)(void *arg, struct range, void *buf, struct err *);
	void *arg;
	const struct ext *first; /* what chunk 0 says, for rehearsal_open(); NULL: that is
	                          * not known yet */
	uint64_t sectors; /* that the image answers for, */
	uint64_t needed;  /* and those that the target must have, at least */
};

struct rehearsal_part {
	unsigned number; /* 0: it is one of a disklabel, or there is no table */
	bool inside;     /* of a disklabel, in the partition before it */
	bool left_out;   /* the image stores nothing of it (whole) */
	struct range sectors;
	uint64_t stored; /* sectors (whole) */
};

struct rehearsal_found {
	enum disk_kind kind;
	bool whole;         /* all chunks were looked at: what is marked so is known */
	uint32_t chunks;    /* of the image */
	uint64_t needed;    /* sectors that the target must have, at least (whole) */
	uint64_t image_bytes;  /* of the disk that the image is of, 0: not known */
	char filesystems[256]; /* its partitions, as the image describes them, or "" */
	bool fresh;            /* a file is made, */
	bool replaces;         /* the file replaces an existing one */
	uint64_t target_bytes; /* of the disk, or of that partition of it; UINT64_MAX: as
	                        * many as come */
	uint64_t stored;       /* sectors, all (whole) */
	bool table;            /* it could be read: */
	size_t nparts;
	struct rehearsal_part *parts; /* owned */
	uint64_t outside;             /* sectors that are stored in none (whole) */
	unsigned stale;               /* old signatures that would be wiped (whole) */
};

struct rehearsal;

/* Open the target as install_open() does, but nothing is made, emptied or written; the
 * state (--state) is left alone.  Errors are those of the real run. */
int rehearsal_open(struct rehearsal **, const struct install_config *,
    const char *target, const struct rehearsal_source *, struct err *);
/* Chunk 0, whole, checked, then the headers of the others, in any order. */
int rehearsal_begin(struct rehearsal *, const void *chunk, struct err *);
int rehearsal_chunk(
    struct rehearsal *, uint32_t number, const struct ndz_header *, struct err *);
/* End a rehearsal for which only chunk 0 of nchunks is available. */
int rehearsal_end_early(struct rehearsal *, const void *chunk0, uint32_t nchunks,
    struct rehearsal_found *, struct err *);
/* All chunks were passed.  Messages about what would be done go to the
 * configuration's say(), except what is returned in *found, which
 * rehearsal_found_free() frees. */
int rehearsal_end(struct rehearsal *, struct rehearsal_found *, struct err *);
void rehearsal_found_free(struct rehearsal_found *);
/* NULL is fine. */
void rehearsal_free(struct rehearsal *);

#endif /* IMAGEUNZIP_INSTALL_REHEARSAL_H */
