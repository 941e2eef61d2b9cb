/* bsdlabel.h: the disklabel of the BSDs: partitions inside a slice of a disk.
 *
 * A slice is a partition of an MBR (types a5, a6, a9) or a disk without a table.
 * Sources: disklabel(5) and the header sys/disklabel.h of FreeBSD, NetBSD and
 * OpenBSD.
 */
#ifndef COMMON_DISK_BSDLABEL_H
#define COMMON_DISK_BSDLABEL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "common/disk/range.h"

enum {
	BSDLABEL_PARTS_MAX = 22,     /* as many as fit into a sector */
	BSDLABEL_BOOT_SECTORS = 128, /* 64 KiB of a slice: boot blocks, and the label */
};

enum bsdlabel_type { BSDLABEL_UNUSED = 0, BSDLABEL_SWAP = 1, BSDLABEL_FFS = 7 };

struct bsdlabel_part {
	char letter; /* 'a'.. */
	uint8_t type;
	struct range sectors; /* of 512 bytes, relative to the slice */
};

/* The partitions of a label, in order of place; they lie inside the slice and do not overlap.
 * Left out are the raw partitions (c, and any that holds all of the slice unless it is the only
 * one), empty ones, and those that lie outside, where other slices are. */
struct bsdlabel {
	unsigned version; /* 1: OpenBSD */
	unsigned nparts;
	struct bsdlabel_part parts[BSDLABEL_PARTS_MAX];
};

/* Has the slice (in sectors of the disk) a label, by its two magic numbers and its checksum?
 * 1: yes; 0: no; -1: it cannot be read. */
int bsdlabel_found(struct disk *, struct range slice, struct err *);
/* Read the label of a slice (in sectors of the disk).  ERR_FORMAT: there is no label, or it is
 * impossible: partitions overlap or lie partly outside.  ERR_UNSUPPORTED: the label does not say
 * what its offsets count from.  Errors of disk_read(). */
int bsdlabel_read(struct bsdlabel *, struct disk *, struct range slice, struct err *);

#endif /* COMMON_DISK_BSDLABEL_H */
