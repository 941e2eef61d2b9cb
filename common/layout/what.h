/* what.h: what is captured, which parts are left out, and how the image is made. */
#ifndef COMMON_LAYOUT_WHAT_H
#define COMMON_LAYOUT_WHAT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/disk/ptable.h"
#include "common/disk/rangeset.h"
#include "common/image/write/maker.h"

/* Partitions of a disk by number, and those inside of its BSD slices.  The table of a disk decides
 * the number of a partition, which can be larger than the options can name. */
struct part_choice {
	bool whole[PTABLE_PARTS_MAX + 1];
	uint32_t letters[PTABLE_PARTS_MAX + 1]; /* bit 0: a; none of slice 0 */
};

/* Is this partition chosen as a whole? */
static inline bool
part_chosen(const struct part_choice *c, unsigned number)
{
	return number <= PTABLE_PARTS_MAX && c->whole[number];
}

/* Which partitions inside of this slice are chosen: bit 0: a. */
static inline uint32_t
part_letters(const struct part_choice *c, unsigned number)
{
	return number <= PTABLE_PARTS_MAX ? c->letters[number] : 0;
}

/* What to capture, and how; the options of imagezip are in brackets. */
struct capture_what {
	const char *source;
	uint64_t slice;       /* of a disk, this partition alone (-s); 0: all */
	bool linux_partition; /* the source is one (-l) */
	bool has_type;        /* the source is one partition of this type (-S) */
	uint64_t type;
	bool whole_disk;                      /* the source is a disk (--disk) */
	bool raw, any_length;                 /* -r, -f (which implies raw) */
	uint64_t count;                       /* first sectors only (-c); 0: all */
	struct part_choice ignore, force_raw; /* -I, -R */
	/* What to leave out. */
	uint64_t min_free;                           /* sectors (-F) */
	bool zero_small;                             /* -Z */
	bool blank_inodes;                           /* -M */
	bool exclude_slack;                          /* -x */
	bool store_outside, skip_outside; /* --outside */
	bool store_gaps, skip_gaps; /* --gaps; neither: all but large holes is stored */
	bool skip_unknown;                           /* --skip-unknown */
	uint64_t limit_mb;                           /* of data (-A); 0: none */
	uint64_t boot_root;                          /* -B; 0: no boot image */
	bool bad_as_zeros;                           /* -X */
	uint64_t retries;                            /* --retries */
	bool no_relocs, force_relocs;                /* -N, -L */
	/* How to make the image. */
	struct maker_choice how;
	const char *sig_old;    /* a delta against this signature (-H), or NULL */
	uint64_t delta_percent; /* -P */
	/* With -H: all sectors of the source that may have changed since the image of the
	 * signature; sealed; borrowed.  Others are not read.  NULL: all are. */
	const struct rangeset *changed;
	bool make_sig;          /* a signature of what is stored (-U) */
	bool look_only;         /* nothing will be stored (-i) */
	bool force;             /* capture even an image; replace any file (--force) */
	bool live;              /* also what is in use (--live) */
};

#endif /* COMMON_LAYOUT_WHAT_H */
