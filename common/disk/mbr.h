/* mbr.h: the MBR and its chain of extended boot records.
 *
 *	446  4 entries of 16 bytes: u8 boot flag (0, 0x80), CHS[3], u8 type, CHS[3],
 *	     u32 first sector, u32 sectors
 *	510  55 aa
 *
 * An extended partition (types 5, 0xf, 0x85) holds a chain of such sectors:
 * entry 0 is a logical partition relative to its own sector, entry 1 the next
 * link relative to the start of the extended partition.
 * Sectors are the device's logical ones on disk, 512-byte ones in memory.
 */
#ifndef COMMON_DISK_MBR_H
#define COMMON_DISK_MBR_H

#include "common/disk/ptable.h"

enum {
	MBR_BYTES = 512,
	MBR_ENTRIES_AT = 446,
	MBR_ENTRY_BYTES = 16,
	MBR_ENTRIES = 4,
	MBR_TYPE_AT = 4,		/* in an entry */
	MBR_TYPE_PROTECTIVE = 0xee,
};

struct mbr_entry {
	uint8_t boot, type;
	uint32_t first, count;		/* in the device's sectors */
};

/* Does the sector end in 55 aa?  Then the four entries are filled in. */
bool mbr_entries(const uint8_t sector[MBR_BYTES], struct mbr_entry entries[MBR_ENTRIES]);
/* Fill the table from the MBR and all EBRs.  `unit` is the number of 512-byte
 * sectors in one of the device's.  kind NONE when it is no partition table:
 * no signature, or entries that no table has (a boot flag other than 0 and
 * 0x80, a used entry without length or at sector 0), as in the boot sector of
 * a filesystem.  ERR_FORMAT when partitions overlap, reach beyond the disk, or
 * the chain loops. */
int mbr_read(struct ptable *, struct disk *, unsigned unit, struct err *);
/* Where the entry of partition `number` is, in bytes of the disk. */
int mbr_entry_at(struct disk *, unsigned unit, unsigned number, uint64_t *at, struct err *);

#endif /* COMMON_DISK_MBR_H */
