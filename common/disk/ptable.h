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
enum {
	PTABLE_PARTS_MAX = 128,
	PTABLE_NAME_CAP = 36 * 3 + 1, /* 36 UTF-16 units as UTF-8 */
};

struct partition {
	unsigned number;      /* as the kernel numbers it: 1.., logical from 5 */
	struct range sectors; /* inside the disk; overlaps none but an empty one */
	bool logical;
	/* Of an MBR, with type 0 ("Empty") and a length.  It may lie around others, in
	 * others, and over the table: so are the sticks of installers made. */
	bool empty;
	uint8_t mbr_type;      /* MBR only; 0 on GPT */
	uint8_t type_guid[16]; /* GPT only, as on the disk */
	uint8_t part_guid[16];
	/* GPT only: UTF-8; what is harmful (plain.h) or broken as '?' */
	char name[PTABLE_NAME_CAP];
};

struct ptable {
	enum ptable_kind kind;
	unsigned sector_bytes; /* of the sectors that the table counts in: 512, 4096 */
	unsigned nparts;       /* in order of number; unused ones left out */
	struct partition parts[PTABLE_PARTS_MAX];
	/* Sectors that the table itself lives in: MBR, every EBR; protective MBR,
	 * both GPT headers and both arrays. */
	struct rangeset own;
	/* GPT: first to last usable, from the header.  MBR: 1 to the end. */
	struct range usable;
	/* GPT: how many bytes its array of entries has. */
	uint64_t array_bytes;
	/* "" or e.g. "backup GPT is damaged (no header in sector 9), used the primary"
	 */
	char warning[400];
};

/* 0 with kind PTABLE_NONE when there is no table at all; -1 (ERR_FORMAT) when
 * there is one that cannot be trusted; ERR_IO; ERR_UNSUPPORTED for a stream, for
 * more than PTABLE_PARTS_MAX partitions, or for a table on a disk whose sectors
 * are said to be of another size than 512 to 4096 bytes.  What sector 0 announces:
 *  - No signature 55 AA in sector 0: no table.
 *  - An entry of type 0xEE that starts at 1 (protective or hybrid MBR): GPT.
 *    One copy that is whole is enough, and the warning says which was used;
 *    ERR_FORMAT when neither is.  A copy is whole when its header, its array,
 *    both CRCs and every entry are right.  Entries that the kernel passes over,
 *    because they have no length or end behind the disk, are passed over, and the
 *    warning says so.  For a regular file that is no disk of 512-byte sectors, 4096
 *    is tried as well.
 *  - Any of the four boot flags neither 0 nor 0x80: no table, but the boot
 *    sector of a file system or of a boot loader.
 *  - Entries of length 0 are unused.  When no other one has a type, this is an MBR
 *    without partitions; so look the boot sector of FAT and others.  Beside others,
 *    an entry of type 0 with a length is a partition (empty), as for the kernel; it is
 *    passed over, and the warning says so, where it cannot be one.
 *  - No used entry that starts inside the disk and behind sector 0: no table.
 *  - Otherwise it is an MBR, and anything wrong in it or in its chain of
 *    logical partitions (overlap, start at 0, end outside the disk or the
 *    extended partition, a link to what is no EBR, a loop) is ERR_FORMAT.  An
 *    extended partition that begins with a sector of zeros has no logical ones. */
int ptable_read(struct ptable *, struct disk *, struct err *);
/* May be called after ptable_read() failed, but need not be. */
void ptable_free(struct ptable *);
/* Does this sector 0, of something with `sectors` sectors, begin a table that has
 * partitions, by the rules of ptable_read()?  What the table says is not checked. */
bool ptable_begins(const void *sector0, uint64_t sectors);
/* Does another partition, or the table itself, share sectors with this one?  It is
 * empty, or the other one is. */
bool ptable_overlaps(const struct ptable *, const struct partition *);
/* The partition that ends last, as it lies on the disk; of those that end together, the
 * first. NULL: there is none. */
const struct partition *ptable_last(const struct ptable *);
/* The partition with this number, or NULL. */
const struct partition *ptable_find(const struct ptable *, unsigned number);

/* Is this a partition of a dynamic disk of Windows (LDM)?  The volumes on such a disk lie where the
 * LDM database says, also in several pieces with other volumes between them, so a filesystem that
 * begins where the partition does may go on elsewhere than it seems. */
bool ptable_is_dynamic(const struct partition *);

/* What the partition belongs to, by its type, as ptype_gpt_owner() says; NULL: the type
 * does not tell.  A filesystem that seems to be in such a partition is what a former
 * use has left. */
const char *ptable_owner(const struct partition *);

/* The numbers of all partitions for a person: "1, 2, 5"; "" when there are none. */
const char *ptable_numbers(const struct ptable *, char *buf, size_t cap);

/* The type of a partition for a person: "Linux filesystem", "0x83 Linux", "0x7b".  It is written
 * into buf, which is returned. */
const char *ptable_type_name(
    const struct ptable *, const struct partition *, char *buf, size_t cap);

/* Set a partition's type (imageunzip -D): an MBR type 1..255 on MBR disks; on
 * GPT disks a gdisk code such as 0x8300, or an MBR type of the same meaning as
 * one of these (131, 166): type GUID and name in both copies, CRCs redone.  A copy
 * that is damaged is left as it is.  1: a GPT's partition stays as it is, since
 * no type of GPT is known for that code; *e is the sentence of a warning.
 * ERR_USAGE for what is no type of an MBR or would change what the table is
 * (extended, 0xEE); ERR_ABSENT: there is no such partition; ERR_UNSUPPORTED for an empty
 * one that shares sectors with another one, or reaches beyond the disk. */
int ptable_set_type(struct disk *, unsigned number, unsigned code, struct err *);

/* Remove a partition from the table (of a GPT, from both copies).  ERR_ABSENT: there is no such
 * partition; ERR_UNSUPPORTED: it is a logical partition. */
int ptable_remove(struct disk *, unsigned number, struct err *);

/* What ptable_fit() did. */
struct ptable_change {
	bool moved;     /* a GPT's backup to the end; a table to other sectors */
	unsigned grown; /* number of the partition that grew, or 0 */
	uint64_t was_sectors, is_sectors; /* the length of that partition before and now */
};

/* Fit the table that is on the disk to the disk.  The table was made for sectors of
 * from_bytes (512 or 4096), and perhaps for a smaller disk: a GPT gets its backup
 * at the end, entries count in the disk's own sectors.  With grow, the last
 * partition reaches to the end of the disk.  ERR_UNSUPPORTED when a partition
 * does not begin and end with a sector, or the last one is logical; when the array of
 * a primary GPT lies behind the partitions, or, for other sectors, not directly behind
 * its header; nothing is written then. */
int ptable_fit(struct disk *, unsigned from_bytes, bool grow, struct ptable_change *,
    struct err *);

/* Where a partition is to be. */
struct ptable_place {
	unsigned number;
	struct range sectors;
};

/* Write the table that was read from a disk, `from`, to another one with all partitions at
 * other places: each has one of the n places.  The order of partitions on the disk stays, and
 * each logical one that moves, or whose record would lie in another partition, has 1 MiB in
 * front of it for its record.  GUIDs, names, flags and boot loader stay as they are.
 * ERR_UNSUPPORTED: the primary GPT is damaged, or has its array behind the partitions; a
 * place is missing, is no whole sectors of the disk, or lies where the table has to be; an
 * extended partition has no logical ones; nothing is written then. */
int ptable_place(struct disk *to, struct disk *from, const struct ptable *,
    const struct ptable_place *, unsigned n, struct err *);

/* Write the table that was read from this disk for a disk of disk_sectors sectors: the backup of a GPT
 * ends there.  Other tables stay as they are.  ERR_UNSUPPORTED: a partition lies where the backup
 * would be, or the primary GPT is damaged, or has its array behind the partitions; nothing is
 * written then. */
int ptable_end_at(struct disk *, const struct ptable *, uint64_t disk_sectors, struct err *);

/* Cut the table that was read from this disk for the smallest disk that has its partitions.
 * Partition `number` becomes part_sectors long, which is no more than it has (0: none
 * changes).  *disk_sectors becomes the length of the smaller disk, a multiple of 4 KiB; the
 * disk itself keeps its length, and a GPT's backup is where the smaller disk ends.  Where a
 * partition ends so near to the disk's end that the backup has no room behind it, nothing is
 * written, and *disk_sectors is the disk's own length.  ERR_UNSUPPORTED: the partition is a
 * logical one, part_sectors are no whole sectors of the table, or the primary GPT is damaged
 * or has its array behind the partitions; nothing is written then. */
int ptable_cut(struct disk *, const struct ptable *, unsigned number,
    uint64_t part_sectors, uint64_t *disk_sectors, struct err *);

#endif /* COMMON_DISK_PTABLE_H */
