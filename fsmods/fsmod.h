/* fsmod.h: a filesystem module: says which sectors of a partition hold nothing.
 *
 * A module is one file, all static, that ends in its table (a large one has helpers
 * NAME_*.c and NAME_impl.h beside it); fsmods.c lists the tables in the order in which
 * they are tried. What a module does not report is kept: a module that understands too
 * little makes a larger image, never a damaged one. The sink checks bounds for all
 * modules; on any error of scan() the partition is stored completely, with a warning that
 * names the reason.
 */
#ifndef FSMODS_FSMOD_H
#define FSMODS_FSMOD_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "common/disk/range.h"
#include "common/disk/rangeset.h"

/* Collects what a scan reports, in sectors relative to the partition (sink.h). */
struct skip_sink;
/* These sectors need not be stored. Ranges may come in any order. A range outside the
 * partition is ERR_FORMAT, and makes the scan fail. */
int skip_add(struct skip_sink *, struct range sectors, struct err *);
/* These sectors become zeros on the target, whatever the source holds: they are stored as
 * zeros and not read. Where it overlaps skip_add(), skip_zero() wins. Errors are those of
 * skip_add(). */
int skip_zero(struct skip_sink *, struct range sectors, struct err *);
/* These sectors have a grid of blocks of their own: a partition of a container, or a piece
 * of a logical volume. Errors are those of skip_add(). */
int skip_zone(struct skip_sink *, struct range sectors, struct err *);
/* Every use of the filesystem, also by another system, changes some of these sectors, or is
 * likely to: superblocks, the head of a log, tables.  A delta carries digests of them, so that
 * it is not taken by a disk that was used since (FS_HOT_SECTORS).  Those that change whatever
 * is done come first, since the sink takes no more than its limit.  Errors are those of
 * skip_add(). */
int skip_hot(struct skip_sink *, struct range sectors, struct err *);
/* A warning for the user ("suspended system, stored completely"). */
void skip_warn(struct skip_sink *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The filesystem ends at this sector of the partition; what follows is slack. */
void skip_fs_end(struct skip_sink *, uint64_t sectors);
/* There is a suspended system, in a volume or in a file.  It counts also when the scan
 * fails. */
void skip_suspended(struct skip_sink *);

/* How many sectors of a filesystem can be hot: installers read all of them: 4 MiB. */
enum { FS_HOT_SECTORS = 8192 };

/* Adjacent free records (inodes). Of each record only the field of keep_bytes at byte
 * keep_at still has a meaning. */
struct fs_records {
	uint64_t at_bytes;     /* in the partition; a multiple of record_bytes */
	uint32_t count;        /* 1.. */
	uint32_t record_bytes; /* a divisor of SECTOR_BYTES */
	uint32_t keep_at, keep_bytes;
};
typedef int (*fs_records_fn)(void *arg, const struct fs_records *, struct err *);

struct fsmod {
	const char *name;  /* "ext4": for JSON, -i and the image's description */
	const char *title; /* "ext2/3/4 filesystem" */
	bool container;    /* it has partitions; not looked for inside a container */
	bool confined;     /* scan() uses a library, and runs in a confined child process */
	/* Is this filesystem in the partition?  1 yes, 0 no, -1 cannot tell. */
	int (*probe)(struct disk *, struct range part, struct err *);
	/* Report what may be skipped. */
	int (*scan)(struct disk *, struct range part, struct skip_sink *, struct err *);
	/* Report free inodes in ascending order; called only after a scan that did not
	 * fail. NULL: this module cannot tell free inodes from others. */
	int (*free_inodes)(
	    struct disk *, struct range part, fs_records_fn, void *arg, struct err *);
};

/* What fsmods_scan() found. */
struct fs_scan {
	const struct fsmod *mod; /* NULL: nothing recognised, or forced raw */
	struct rangeset skip;    /* partition-relative sectors; owned */
	struct rangeset zero;    /* stored as zeros, none of them in skip; owned */
	struct rangeset hot;     /* partition-relative sectors of skip_hot(); owned */
	struct range *zones;     /* of skip_zone(), in any order; owned */
	size_t nzones, zones_cap;
	uint64_t fs_end;         /* sectors; the partition's length when unknown */
	bool suspended;          /* a suspended system is in a volume or a file of it */
	bool failed;             /* recognised, but not trusted: stored completely */
	char warning[512];       /* "", or why more is kept than necessary */
	/* How a confined module was run: "was read by ..."; "" for other modules. */
	char confinement[200];
};

/* Where a partition lies decides what else may be recognised in it. */
enum fs_place {
	FS_ALONE,        /* a whole disk, or a partition that the user calls a filesystem */
	FS_IN_TABLE,     /* a partition of a table, or a logical volume */
	FS_IN_CONTAINER, /* a partition of a disklabel, in which containers are not looked for */
};

/* The module that recognises the partition, or NULL.  Errors while probing are "no": the
 * partition is then stored completely. */
const struct fsmod *fsmods_probe(struct disk *, struct range part, enum fs_place);
/* Probe and scan the partition into *scan, which the caller frees with fs_scan_free(). On
 * any doubt everything is kept: skip is empty, and the warning says why. This is also
 * done when two modules recognise the partition, because one of the two filesystems is a
 * leftover; and, with FS_IN_TABLE, when the partition begins with a partition table: the
 * partition was then used as a disk, and either the filesystem or the table is a
 * leftover. Returns -1 only for ERR_NOMEM and ERR_CANCELLED. */
int fsmods_scan(
    struct disk *, struct range part, enum fs_place, struct fs_scan *, struct err *);
/* Like fsmods_scan(), with a module that the caller chooses; NULL keeps everything. A
 * confined module runs in a child process; if the child crashes, hangs or sends
 * impossible messages, everything is kept. */
int fsmods_scan_as(const struct fsmod *, struct disk *, struct range part,
    struct fs_scan *, struct err *);
/* Like fsmods_scan_as(), but always in this process, also for a confined module: for
 * tests that watch what a module reads. */
int fsmods_scan_here(const struct fsmod *, struct disk *, struct range part,
    struct fs_scan *, struct err *);
/* Free the ranges. */
void fs_scan_free(struct fs_scan *);
/* The module that an MBR type stands for (-S T), NULL when none does. */
const struct fsmod *fsmods_for_mbr_type(unsigned mbr_type);

extern const struct fsmod fsmod_luks, fsmod_lvm2, fsmod_ntfs, fsmod_exfat, fsmod_fat,
    fsmod_ext, fsmod_swap, fsmod_xfs, fsmod_f2fs, fsmod_btrfs, fsmod_ffs,
    fsmod_bsdlabel;

#endif /* FSMODS_FSMOD_H */
