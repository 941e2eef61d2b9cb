/* rehearsal.h: rehearses an installation without writing (--dry-run).
 *
 * The installation's own code runs on a disk that reads as the target would after the
 * installation, and drops every write: what the image stores is read from the image,
 * everything else from the target. Therefore a rehearsal refuses what the real run
 * refuses before it writes, and finds the old signatures that the real run would wipe.
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
	/* Read sectors, all of which the image stores, counted from its sector 0. */
	int (*read)(void *arg, struct range, void *buf, struct err *);
	void *arg;
	const struct ext *first; /* what chunk 0 says, for rehearsal_open(); NULL: that is
	                          * not known yet */
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

struct rehearsal;

/* Open the target as install_open() does, but nothing is made, emptied or written; the
 * state (--state) is left alone, and partitions are not held.  Errors are those of the real run. */
int rehearsal_open(struct rehearsal **, const struct install_config *,
    const char *target, const struct rehearsal_source *, struct err *);
/* The installation that is rehearsed, for install_choose(), before rehearsal_begin(). */
struct install *rehearsal_install(struct rehearsal *);
/* rehearsal_begin() takes chunk 0, whole, and checks it; rehearsal_chunk() then takes the
 * headers of the others, in any order. Errors are those of the installation. */
int rehearsal_begin(struct rehearsal *, const void *chunk, struct err *);
int rehearsal_chunk(
    struct rehearsal *, uint32_t number, const struct ndz_header *, struct err *);
/* End a rehearsal for which only chunk 0 of nchunks is available. */
int rehearsal_end_early(struct rehearsal *, const void *chunk0, uint32_t nchunks,
    struct rehearsal_found *, struct err *);
/* Called when all chunks were passed.  Messages about what would be done go to the
 * configuration's say(), except what is returned in *found, which
 * rehearsal_found_free() frees. */
int rehearsal_end(struct rehearsal *, struct rehearsal_found *, struct err *);
/* Free what was found. */
void rehearsal_found_free(struct rehearsal_found *);
/* Give up the installation and free the rehearsal; NULL is fine. */
void rehearsal_free(struct rehearsal *);

#endif /* IMAGEUNZIP_INSTALL_REHEARSAL_H */
