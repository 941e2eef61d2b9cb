/* layout.h: decides which sectors of a source are stored. */
#ifndef COMMON_LAYOUT_LAYOUT_H
#define COMMON_LAYOUT_LAYOUT_H

#include "common/disk/disk.h"
#include "common/disk/ptable.h"
#include "common/disk/rangeset.h"
#include "common/image/format/cut.h"
#include "common/image/format/ext.h"
#include "common/layout/blanks.h"
#include "common/layout/disk_tail.h"
#include "common/layout/relocs.h"
#include "common/layout/what.h"

/* A partition, or the whole source when it has none. */
struct layout_part {
	unsigned number;      /* 0: the whole source */
	struct range sectors; /* of the source */
	char type[64];        /* of the table, "" without one */
	uint8_t mbr_type;     /* 0 without an MBR */
	char fs[16];          /* "ext4", "swap", "raw", "ignored" */
	uint64_t skipped;     /* sectors */
	uint64_t fs_sectors;  /* length of the filesystem; 0: not known */
	uint64_t image_bytes; /* a guess, by estimate() */
	char warning[512];
	char confinement[200]; /* "was read by ...": fsmod.h */
	bool whole;  /* every sector is stored, also those that another partition skips */
	bool vacant; /* of type 0, without anything that is known: left out like a gap */
};

struct layout {
	enum ext_kind kind;
	uint64_t base;         /* source sector of the image's sector 0 */
	uint64_t total;        /* sectors of the image; UINT64_MAX: until the end */
	struct rangeset store; /* image sectors whose data is stored */
	struct rangeset table; /* image sectors of the partition table */
	struct rangeset zero;  /* sectors of `store` that are stored as zeros */
	struct rangeset unread; /* those, and holes of the source: zeros without being read */
	struct rangeset filler; /* free sectors of `store`: too short to be left out */
	struct rangeset hot; /* image sectors that every use changes, say the scans (fsmod.h) */
	struct rangeset left_out; /* image sectors that -I or -B leaves out, however few */
	/* Zones of the image: partitions, what their scans add, and the space between. */
	struct cut_zones zones;
	unsigned nparts;
	struct layout_part parts[PTABLE_PARTS_MAX];
	char warning[400];    /* about the partition table */
	char in_use[400];     /* how the source is in use (source.h); "": it is not */
	uint64_t image_bytes; /* a guess, by estimate() */
	struct outside outside; /* the space outside of a disk's partitions */
	struct reach reach;     /* for the image; n is 0 when it has no such record */
	struct relocs relocs;
	struct blanks blanks;    /* -M */
	char reloc_warning[640]; /* why there are no relocations */
};

/* Look at the source and fill in the layout, which layout_free() frees; empty after an
 * error. ERR_UNSUPPORTED when it is ambiguous what the source is; ERR_ABSENT when it has no
 * such partition; ERR_USAGE when options do not fit it; ERR_REFUSED by -A; also errors of
 * reading. */
int layout_make(struct layout *, struct disk *, const struct capture_what *, struct err *);
void layout_free(struct layout *);
/* Does the partition table have some of these sectors of the image? */
bool layout_has_table(const struct layout *, struct range);
/* "1:ext4 2:swap", for the image's description. */
void layout_describe(const struct layout *, char *buf, size_t cap);

#endif /* COMMON_LAYOUT_LAYOUT_H */
