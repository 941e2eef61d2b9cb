/* ptable.h: the partition table of a disk: MBR with logical partitions, GPT.
 *
 * Everything is in sectors of 512 bytes, also on disks with larger ones.
 * Sources: the MBR and EBR layout as in the Linux kernel's documentation of
 * msdos partitions; GPT as in UEFI 2.10 chapter 5; type codes as in the
 * image format specification, section 14.
 */
#ifndef COMMON_DISK_PTABLE_H
#define COMMON_DISK_PTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/disk.h"
#include "common/disk/range.h"
#include "common/disk/rangeset.h"

enum ptable_kind { PTABLE_NONE, PTABLE_MBR, PTABLE_GPT };
enum { PTABLE_PARTS_MAX = 128 };

struct partition {
	unsigned number;	/* as the kernel numbers it: 1.., logical from 5 */
	struct range sectors;	/* inside the disk; never overlaps another one */
	bool logical;
	uint8_t mbr_type;	/* MBR only; 0 on GPT */
	uint8_t type_guid[16];	/* GPT only, as on the disk */
	uint8_t part_guid[16];
	char name[73];		/* GPT only: UTF-8, control characters as '?' */
};

struct ptable {
	enum ptable_kind kind;
	unsigned sector_bytes;		/* logical sectors that the table counts in */
	unsigned nparts;		/* in order of number; unused ones left out */
	struct partition parts[PTABLE_PARTS_MAX];
	/* Sectors that the table itself lives in: MBR, every EBR; protective MBR,
	 * both GPT headers and both arrays. */
	struct rangeset own;
	/* GPT: first to last usable, from the header.  MBR: 1 to the end. */
	struct range usable;
	char warning[256];	/* "" or e.g. "backup GPT is damaged, used the primary" */
};

/* 0 with kind PTABLE_NONE when there is no table at all; -1 (ERR_FORMAT) when
 * there is one that cannot be trusted: overlaps, partitions outside the disk,
 * both GPT copies damaged, an EBR chain that loops; ERR_IO. */
int ptable_read(struct ptable *, struct disk *, struct err *);
void ptable_free(struct ptable *);
/* NULL when there is no such partition. */
const struct partition *ptable_find(const struct ptable *, unsigned number);

/* A word for a person: "Linux filesystem", "0x83 Linux", "0x7b". */
const char *ptable_type_name(const struct ptable *, const struct partition *, char *buf,
    size_t cap);

/* Set a partition's type (imageunzip -D): an MBR type 1..255 on MBR disks; on
 * GPT disks a gdisk code such as 0x8300, or 131, 130, 165, 7 for the MBR types
 * of the same meaning: type GUID and name in both copies, CRCs redone.
 * ERR_USAGE for a code that this kind of table does not know. */
int ptable_set_type(struct disk *, unsigned number, unsigned code, struct err *);

#endif /* COMMON_DISK_PTABLE_H */
