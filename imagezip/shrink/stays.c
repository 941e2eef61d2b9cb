/* stays.c: finds the partitions that must keep their first sector.  shrink.c calls this, in
 * the first thread. */
#include "imagezip/shrink/stays.h"

#include <stdio.h>
#include <string.h>

#include "common/base/field.h"
#include "common/disk/ptype.h"

enum {
	MBR_NTFS = 0x07,
	MBR_NTFS_HIDDEN = 0x17,
	MBR_RECOVERY = 0x27,
	MBR_FREEBSD = 0xa5,
	MBR_OPENBSD = 0xa6,
	MBR_NETBSD = 0xa9,
	GPT_RECOVERY = 0x2700,
	GPT_BIOS_BOOT = 0xef02,
	CODE_BYTES = 440, /* of a boot loader, in a sector */
	GRUB_KERNEL = 0x5c, /* boot.img has the sector there with which GRUB goes on */
	LILO_NAME = 6,
};

/* What GRUB's and LILO's first sectors are known by. */
static bool
has_grub(const uint8_t sector[SECTOR_BYTES])
{
	return memmem(sector, CODE_BYTES, "GRUB ", 5) != NULL;
}

static bool
has_lilo(const uint8_t sector[SECTOR_BYTES])
{
	return memcmp(sector + LILO_NAME, "LILO", 4) == 0;
}

static unsigned
gpt_code(const struct partition *p)
{
	const struct ptype_gpt *type = p->mbr_type == 0 ? ptype_gpt_by_guid(p->type_guid)
	                                                : NULL;

	return type != NULL ? type->code : 0;
}

bool
stays_recovery(const struct partition *p)
{
	return p->mbr_type == MBR_RECOVERY || gpt_code(p) == GPT_RECOVERY;
}

/* Why a partition stays, by its type; NULL: it need not. */
static const char *
by_type(const struct partition *p)
{
	switch (p->mbr_type) {
	case MBR_NTFS:
	case MBR_NTFS_HIDDEN:
	case MBR_RECOVERY:
		return "Windows finds a partition of an MBR by its first sector";
	case MBR_FREEBSD:
	case MBR_OPENBSD:
	case MBR_NETBSD:
		return "its disklabel says where it lies";
	default:
		break;
	}
	return gpt_code(p) == GPT_BIOS_BOOT ? "a boot loader is found by its sectors"
	       : ptable_owner(p) != NULL    ? "its data lies where its owner says"
	                                    : NULL;
}

/* Why a partition stays, by its first sector and that of the disk. */
static const char *
by_loader(const struct partition *p, const uint8_t disk[SECTOR_BYTES],
    const uint8_t part[SECTOR_BYTES], unsigned unit)
{
	uint64_t kernel = get_le64(disk + GRUB_KERNEL) * unit;

	if (has_lilo(disk) || has_lilo(part))
		return "LILO has the numbers of its sectors";
	if (has_grub(part) ||
	    (has_grub(disk) && kernel >= p->sectors.off && kernel < range_end(p->sectors)))
		return "GRUB has the numbers of its sectors";
	return NULL;
}

/* Has each logical partition its EBR directly before it, in the order of their numbers, and is
 * there no other EBR?  Partitions of type 0 may lie anywhere. */
static bool
is_regular(const struct ptable *t, const struct partition *const *order)
{
	uint64_t unit = t->sector_bytes / SECTOR_BYTES, end = 0;
	unsigned logical = 0, last = 0;

	for (unsigned i = 0; i < t->nparts; i++) {
		const struct partition *p = order[i];
		struct range gap = { end, p->sectors.off - end };
		if (p->empty || p->sectors.off < end ||
		    (p->logical && (p->number < last || !rangeset_touches(&t->own, gap))))
			return false;
		end = range_end(p->sectors);
		last = p->logical ? p->number : last;
		logical += p->logical;
	}
	return rangeset_total(&t->own) == (logical + UINT64_C(1)) * unit;
}

bool
stays_all(const struct ptable *t, const struct partition *const *order)
{
	return t->kind == PTABLE_MBR && !is_regular(t, order);
}

int
stays_find(const char **why, struct disk *d, const struct ptable *t,
    const struct partition *const *order, struct err *e)
{
	uint8_t disk[SECTOR_BYTES], part[SECTOR_BYTES];

	if (disk_read(d, disk, sizeof disk, 0, e) != 0)
		return -1;
	for (unsigned i = 0; i < t->nparts; i++) {
		const struct partition *p = order[i];
		struct err ignored;
		if (disk_read(d, part, sizeof part, p->sectors.off * SECTOR_BYTES, &ignored) != 0)
			memset(part, 0, sizeof part);
		why[i] = by_type(p);
		if (why[i] == NULL)
			why[i] = by_loader(p, disk, part, t->sector_bytes / SECTOR_BYTES);
	}
	return 0;
}
