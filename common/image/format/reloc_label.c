/* reloc_label.c: converts disklabels, whose offsets count from the beginning of the disk,
 * but in an image from the beginning of the slice. reloc.c and moved_part.c call this in the
 * threads that decode, imagezip's relocs.c in its first thread. */
#include <inttypes.h>
#include <string.h>

#include "common/base/field.h"
#include "common/image/format/reloc_impl.h"

/* A BSD disklabel: magic at 0 and 132, checksum at 136, number of partitions
 * at 138, entries of 16 bytes from 148: u32 size, u32 offset, 8 bytes. */
enum {
	LABEL_BYTES = 276,
	LABEL_MAGIC = 0x82564557,
	LABEL_SECSIZE_AT = 40,
	LABEL_VERSION_AT = 114,
	LABEL_MAGIC2_AT = 132,
	LABEL_SUM_AT = 136,
	LABEL_COUNT_AT = 138,
	LABEL_ENTRIES_AT = 148,
	LABEL_ENTRY_BYTES = 16,
	LABEL_ENTRIES_MAX = 8,
	OPENBSD_ENTRIES_MAX = 16,
	RAW_PARTITION = 2, /* 'c': the whole slice */
};

static void
relocate_entry(uint8_t *entry, bool raw_partition, struct range slice)
{
	uint64_t size = get_le32(entry), offset = get_le32(entry + 4) + slice.off;

	if (size == 0)
		return;
	if (offset + size > range_end(slice))
		size = offset < range_end(slice) ? range_end(slice) - offset : 0;
	else if (raw_partition && size != slice.len)
		size = slice.len;
	put_le32(entry, (uint32_t)size);
	put_le32(entry + 4, (uint32_t)offset);
}

/* The sum of a label, 0 when its checksum, which is one of the words, is right. */
static uint16_t
label_sum(const uint8_t *label, unsigned entries)
{
	uint16_t sum = 0;

	for (size_t i = 0; i < LABEL_ENTRIES_AT + (size_t)entries * LABEL_ENTRY_BYTES;
	     i += 2)
		sum ^= get_le16(label + i);
	return sum;
}

static void
checksum_label(uint8_t *label, unsigned entries)
{
	struct wr w = wr_to(label + LABEL_SUM_AT, 2);

	wr_le16(&w, 0);
	uint16_t sum = label_sum(label, entries);
	w = wr_to(label + LABEL_SUM_AT, 2);
	wr_le16(&w, sum);
}

/* Does an entry stay as it is? In OpenBSD's label 'c' does, and so do the entries from
 * number 8 on. */
static bool
is_untouched(uint32_t type, unsigned i)
{
	return type == NDZ_RELOC_OPENBSD_LABEL && (i == RAW_PARTITION || i >= 8);
}

int
reloc_label(const struct ndz_reloc *r, struct range slice, uint8_t *label, size_t n,
    struct err *e)
{
	if (n < LABEL_BYTES || r->size < LABEL_BYTES)
		return err_set(e, ERR_FORMAT,
		    "the disklabel at sector %" PRIu64 " is only %" PRIu64
		    " bytes long",
		    r->sector, r->size);
	unsigned entries = get_le16(label + LABEL_COUNT_AT);
	if (get_le32(label) != LABEL_MAGIC ||
	    get_le32(label + LABEL_MAGIC2_AT) != LABEL_MAGIC)
		return err_set(
		    e, ERR_FORMAT, "no disklabel at sector %" PRIu64, r->sector);
	if (slice.off > UINT32_MAX || range_end(slice) > UINT32_MAX)
		return err_set(e, ERR_UNSUPPORTED,
		    "a disklabel cannot describe a partition beyond "
		    "2^32 sectors");
	if (entries > LABEL_ENTRIES_MAX && r->type == NDZ_RELOC_FREEBSD_LABEL)
		return err_set(e, ERR_FORMAT,
		    "the disklabel at sector %" PRIu64 " has %u partitions", r->sector,
		    entries);
	size_t room = (n - LABEL_ENTRIES_AT) / LABEL_ENTRY_BYTES;
	if (entries > room)
		return err_set(e, ERR_FORMAT,
		    "the disklabel at sector %" PRIu64 " has %u partitions", r->sector,
		    entries);
	for (unsigned i = 0; i < entries; i++)
		if (!is_untouched(r->type, i))
			relocate_entry(label + LABEL_ENTRIES_AT + i * LABEL_ENTRY_BYTES,
			    i == RAW_PARTITION, slice);
	checksum_label(label, entries);
	return 0;
}

static uint8_t *
entry_of(uint8_t *label, unsigned i)
{
	return label + LABEL_ENTRIES_AT + (size_t)i * LABEL_ENTRY_BYTES;
}

/* Refuse a label that reloc_label() could not convert back exactly. */
static int
check_label(const uint8_t *label, uint32_t type, unsigned entries, struct err *e)
{
	bool wide = get_le16(label + LABEL_VERSION_AT) == 1;

	if (get_le32(label + LABEL_SECSIZE_AT) != SECTOR_BYTES)
		return err_set(e, ERR_UNSUPPORTED,
		    "its disklabel counts in sectors of %u bytes",
		    get_le32(label + LABEL_SECSIZE_AT));
	if (entries >
	    (type == NDZ_RELOC_OPENBSD_LABEL ? OPENBSD_ENTRIES_MAX : LABEL_ENTRIES_MAX))
		return err_set(
		    e, ERR_UNSUPPORTED, "its disklabel has %u partitions", entries);
	for (unsigned i = 0; wide && i < entries; i++)
		if (get_le32(label + LABEL_ENTRIES_AT + i * LABEL_ENTRY_BYTES + 8) != 0)
			return err_set(e, ERR_UNSUPPORTED,
			    "its disklabel has sectors beyond 2^32");
	return 0;
}

/* Do the offsets count from the beginning of the slice? They do if one of them lies in
 * front of the slice. */
static bool
counts_from_slice(
    const uint8_t *label, uint32_t type, unsigned entries, struct range slice)
{
	bool relative = false;

	for (unsigned i = 0; i < entries; i++) {
		const uint8_t *p = label + LABEL_ENTRIES_AT +
		                   (size_t)i * LABEL_ENTRY_BYTES;
		relative |= !is_untouched(type, i) && get_le32(p) != 0 &&
		            get_le32(p + 4) < slice.off;
	}
	return relative;
}

int
reloc_label_relative(
    uint8_t label[SECTOR_BYTES], uint32_t type, struct range slice, struct err *e)
{
	unsigned entries = get_le16(label + LABEL_COUNT_AT);
	uint64_t first = get_le32(entry_of(label, 0) + 4);

	if (check_label(label, type, entries, e) != 0)
		return -1;
	bool relative = counts_from_slice(label, type, entries, slice);
	if (entries == 0 || get_le32(entry_of(label, 0)) == 0 ||
	    first != (relative ? 0 : slice.off))
		return err_set(e, ERR_UNSUPPORTED,
		    "partition a of its disklabel does not begin at the beginning of "
		    "the partition");
	for (unsigned i = 0; i < entries && !relative; i++) {
		uint8_t *p = entry_of(label, i);
		if (!is_untouched(type, i) && get_le32(p) != 0)
			put_le32(p + 4, (uint32_t)(get_le32(p + 4) - slice.off));
	}
	checksum_label(label, entries);
	return 0;
}

bool
reloc_is_label(const uint8_t label[SECTOR_BYTES])
{
	unsigned entries = get_le16(label + LABEL_COUNT_AT);

	return get_le32(label) == LABEL_MAGIC &&
	       get_le32(label + LABEL_MAGIC2_AT) == LABEL_MAGIC &&
	       entries <= (SECTOR_BYTES - LABEL_ENTRIES_AT) / LABEL_ENTRY_BYTES &&
	       label_sum(label, entries) == 0;
}

int
reloc_label_follow(uint8_t label[SECTOR_BYTES], uint32_t type, struct range from,
    struct range to, struct err *e)
{
	const struct ndz_reloc r = { type, 1, 0, SECTOR_BYTES };
	unsigned entries = get_le16(label + LABEL_COUNT_AT);
	uint8_t copy[SECTOR_BYTES];

	if (!reloc_is_label(label) || counts_from_slice(label, type, entries, from))
		return 0;
	memcpy(copy, label, sizeof copy);
	if (reloc_label_relative(copy, type, from, e) != 0 ||
	    reloc_label(&r, to, copy, sizeof copy, e) != 0)
		return -1;
	memcpy(label, copy, sizeof copy);
	return 1;
}
