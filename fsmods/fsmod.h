/* fsmod.h: a filesystem module: says which sectors of a partition hold nothing.
 *
 * A module is one file, all static, that ends in its table (a large one has
 * helpers NAME_*.c and NAME_impl.h beside it); fsmods.c lists the tables in the
 * order in which they are tried.  Silence means "keep": a module
 * that understands too little makes a larger image, never a damaged one.  The
 * sink checks bounds for all modules; on any error of scan() the caller stores
 * the partition whole, with a warning that names the reason.
 */
#ifndef FSMODS_FSMOD_H
#define FSMODS_FSMOD_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "common/disk/range.h"
#include "common/disk/rangeset.h"

/* Collects what may be skipped, in sectors relative to the partition. */
struct skip_sink;
/* Ranges in any order.  Outside the partition: ERR_FORMAT, and the scan is void. */
int skip_add(struct skip_sink *, struct range sectors, struct err *);
/* These sectors are to be zeros on the target, whatever they hold here: stored,
 * but not read.  Stronger than skip_add().  Bounds as there. */
int skip_zero(struct skip_sink *, struct range sectors, struct err *);
/* A warning for the user ("suspended system, stored completely"). */
void skip_warn(struct skip_sink *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The filesystem ends here (sectors); behind it is slack of the partition. */
void skip_fs_end(struct skip_sink *, uint64_t sectors);

/* Records side by side that are free: of each, only one field still means anything. */
struct fs_records {
	uint64_t at_bytes;     /* in the partition; a multiple of record_bytes */
	uint32_t count;        /* 1.. */
	uint32_t record_bytes; /* a divisor of SECTOR_BYTES */
	uint32_t keep_at, keep_bytes;
};
typedef int (*fs_records_fn)(void *arg, const struct fs_records *, struct err *);

struct fsmod {
	const char *name;  /* "ext4": JSON, -i, the image's description */
	const char *title; /* "ext2/3/4 filesystem" */
	bool container;    /* has partitions of its own; not looked for in one */
	bool confined;     /* a library reads it: scan() runs in a process of its own */
	/* Is this filesystem in the partition?  1 yes, 0 no, -1 cannot tell. */
	int (*probe)(struct disk *, struct range part, struct err *);
	/* Report what may be skipped. */
	int (*scan)(struct disk *, struct range part, struct skip_sink *, struct err *);
	/* Report free inodes, ascending; only after a scan that did not fail.  NULL:
	 * they are not told from others. */
	int (*free_inodes)(
	    struct disk *, struct range part, fs_records_fn, void *arg, struct err *);
};

/* What fsmods_scan() found. */
struct fs_scan {
	const struct fsmod *mod; /* NULL: nothing recognised, or forced raw */
	struct rangeset skip;    /* partition-relative sectors; owned */
	struct rangeset zero;    /* stored as zeros, none of them in skip; owned */
	uint64_t fs_end;         /* sectors; the partition's length when unknown */
	bool failed;             /* recognised, but not to be trusted: stored completely */
	char warning[512];       /* "" or why more is kept than need be */
	/* How a module that is confined was run: "was read by ..."; "" for others. */
	char confinement[200];
};

/* Where a partition lies decides what else may be recognised in it. */
enum fs_place {
	FS_ALONE,        /* a whole disk, or what the user calls a filesystem */
	FS_IN_TABLE,     /* a partition of a table, or a logical volume */
	FS_IN_CONTAINER, /* a partition of a disklabel, in which containers are not looked for */
};

/* The module that recognises the partition, or NULL.  Errors while probing are "no": the
 * partition is then stored completely. */
const struct fsmod *fsmods_probe(struct disk *, struct range part, enum fs_place);
/* Probe and scan; falls back to keeping everything (skip empty, warning set): also when two
 * modules recognise the partition, for one of the two is a leftover; and FS_IN_TABLE when a
 * partition table is in it, for it was given away as a disk, and the filesystem is a leftover,
 * or the table is.  -1 only for ERR_NOMEM and ERR_CANCELLED. */
int fsmods_scan(
    struct disk *, struct range part, enum fs_place, struct fs_scan *, struct err *);
/* The same with a module of the caller's choice; NULL keeps everything.  A module that is
 * confined is run in a process of its own; that it crashes, hangs or says what cannot be is
 * a reason to keep everything. */
int fsmods_scan_as(const struct fsmod *, struct disk *, struct range part,
    struct fs_scan *, struct err *);
/* fsmods_scan_as() in this process, whatever the module: for who looks at what it reads. */
int fsmods_scan_here(const struct fsmod *, struct disk *, struct range part,
    struct fs_scan *, struct err *);
void fs_scan_free(struct fs_scan *);
/* The module that an MBR type stands for (-S T), NULL when none does. */
const struct fsmod *fsmods_for_mbr_type(unsigned mbr_type);

extern const struct fsmod fsmod_luks, fsmod_lvm2, fsmod_ntfs, fsmod_exfat, fsmod_fat,
    fsmod_ext, fsmod_swap, fsmod_xfs, fsmod_f2fs, fsmod_btrfs, fsmod_ffs,
    fsmod_bsdlabel;

#endif /* FSMODS_FSMOD_H */
