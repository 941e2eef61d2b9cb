/* gpt.h: the GUID partition table, both copies.
 *
 *	header  "EFI PART", u32 revision, u32 header bytes (92), u32 CRC-32 (with
 *	        itself as zero), u32 0, u64 this LBA, u64 other copy's LBA, u64 first
 *	        usable, u64 last usable, GUID[16], u64 array's LBA, u32 entries, u32
 *	        bytes an entry, u32 CRC-32 of the array
 *	entry   type GUID[16], GUID[16], u64 first LBA, u64 last LBA, u64 flags,
 *	        name[72] UTF-16LE
 *
 * Source: UEFI specification 2.10, section 5.3.
 */
#ifndef COMMON_DISK_GPT_H
#define COMMON_DISK_GPT_H

#include "common/disk/ptable.h"

enum {
	GPT_HEADER_BYTES = 92,
	GPT_ENTRY_BYTES = 128,
	GPT_NAME_AT = 56,
	GPT_NAME_BYTES = 72,
	GPT_ARRAY_MAX = 4 << 20,	/* the most that is believed */
};

/* Read either copy; kind stays NONE when neither has the signature.
 * ERR_FORMAT when there is one but none is intact. */
int gpt_read(struct ptable *, struct disk *, unsigned unit, struct err *);
/* Change type and name of a partition in every intact copy. */
int gpt_set_type(struct disk *, unsigned unit, unsigned number, const uint8_t guid[16],
    const char *name, struct err *);

#endif /* COMMON_DISK_GPT_H */
