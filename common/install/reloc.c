#include "common/install/reloc.h"

#include <inttypes.h>

#include "common/base/rd.h"
#include "common/base/wr.h"

/* A BSD disklabel: magic at 0 and 132, checksum at 136, number of partitions
 * at 138, entries of 16 bytes from 148: u32 size, u32 offset, 8 bytes. */
enum {
	LABEL_BYTES = 276,
	LABEL_MAGIC = 0x82564557,
	LABEL_MAGIC2_AT = 132,
	LABEL_SUM_AT = 136,
	LABEL_COUNT_AT = 138,
	LABEL_ENTRIES_AT = 148,
	LABEL_ENTRY_BYTES = 16,
	LABEL_ENTRIES_MAX = 8,
	RAW_PARTITION = 2,		/* 'c': the whole slice */
};

int
reloc_check(const struct ndz_reloc *r, struct range slice, struct err *e)
{
	switch (r->type) {
	case NDZ_RELOC_NONE:
	case NDZ_RELOC_SHORT_SECTOR:
	case NDZ_RELOC_GPT_FIX:
	case NDZ_RELOC_FREEBSD_LABEL:
	case NDZ_RELOC_OPENBSD_LABEL:
		return 0;
	case NDZ_RELOC_LILO_ADDRESS:
	case NDZ_RELOC_LILO_MAP:
	case NDZ_RELOC_LILO_CHECKSUM:
		/* Addresses count from the partition: at 0 they are right as they are. */
		if (slice.len == 0 || slice.off == 0)
			return 0;
		return err_set(e, ERR_UNSUPPORTED, "relocation type %u (LILO) is not built yet, so "
		    "this image cannot go into a partition", r->type);
	default:
		return 1;
	}
}

bool
reloc_changes(const struct ndz_reloc *r, struct range slice)
{
	return slice.len != 0 &&
	    (r->type == NDZ_RELOC_FREEBSD_LABEL || r->type == NDZ_RELOC_OPENBSD_LABEL);
}

static uint32_t
get32(const uint8_t *p)
{
	struct rd r = rd_from(p, 4);

	return rd_le32(&r);
}

static uint16_t
get16(const uint8_t *p)
{
	struct rd r = rd_from(p, 2);

	return rd_le16(&r);
}

static void
put32(uint8_t *p, uint32_t v)
{
	struct wr w = wr_to(p, 4);

	wr_le32(&w, v);
}

static void
relocate_entry(uint8_t *entry, bool raw_partition, struct range slice)
{
	uint64_t size = get32(entry), offset = get32(entry + 4) + slice.off;

	if (size == 0)
		return;
	if (offset + size > range_end(slice))
		size = offset < range_end(slice) ? range_end(slice) - offset : 0;
	else if (raw_partition && size != slice.len)
		size = slice.len;
	put32(entry, (uint32_t)size);
	put32(entry + 4, (uint32_t)offset);
}

static void
checksum_label(uint8_t *label, unsigned entries)
{
	uint16_t sum = 0;
	struct wr w = wr_to(label + LABEL_SUM_AT, 2);

	wr_le16(&w, 0);
	for (size_t i = 0; i < LABEL_ENTRIES_AT + (size_t)entries * LABEL_ENTRY_BYTES; i += 2)
		sum ^= get16(label + i);
	w = wr_to(label + LABEL_SUM_AT, 2);
	wr_le16(&w, sum);
}

/* OpenBSD's label: 'c' stays, and so do the entries from the eighth on. */
static bool
is_untouched(const struct ndz_reloc *r, unsigned i)
{
	return r->type == NDZ_RELOC_OPENBSD_LABEL && (i == RAW_PARTITION || i >= 8);
}

int
reloc_apply(const struct ndz_reloc *r, struct range slice, void *data, size_t n, struct err *e)
{
	uint8_t *label = data;

	if (!reloc_changes(r, slice))
		return 0;
	if (n < LABEL_BYTES || r->size < LABEL_BYTES)
		return err_set(e, ERR_FORMAT, "the disklabel at sector %" PRIu64 " is only %" PRIu64
		    " bytes long", r->sector, r->size);
	unsigned entries = get16(label + LABEL_COUNT_AT);
	if (get32(label) != LABEL_MAGIC || get32(label + LABEL_MAGIC2_AT) != LABEL_MAGIC)
		return err_set(e, ERR_FORMAT, "no disklabel at sector %" PRIu64, r->sector);
	if (slice.off > UINT32_MAX || range_end(slice) > UINT32_MAX)
		return err_set(e, ERR_UNSUPPORTED, "a disklabel cannot describe a partition beyond "
		    "2^32 sectors");
	if (entries > LABEL_ENTRIES_MAX && r->type == NDZ_RELOC_FREEBSD_LABEL)
		return err_set(e, ERR_FORMAT, "the disklabel at sector %" PRIu64 " has %u partitions",
		    r->sector, entries);
	size_t room = (n - LABEL_ENTRIES_AT) / LABEL_ENTRY_BYTES;
	if (entries > room)
		return err_set(e, ERR_FORMAT, "the disklabel at sector %" PRIu64 " has %u partitions",
		    r->sector, entries);
	for (unsigned i = 0; i < entries; i++)
		if (!is_untouched(r, i))
			relocate_entry(label + LABEL_ENTRIES_AT + i * LABEL_ENTRY_BYTES,
			    i == RAW_PARTITION, slice);
	checksum_label(label, entries);
	return 0;
}

uint64_t
reloc_at(const struct ndz_header *h, const struct ndz_reloc *r)
{
	uint64_t at = r->offset;

	for (unsigned i = 0; i < h->nregions; i++) {
		struct range g = h->regions[i];
		if (r->sector >= g.off && r->sector - g.off < g.len)
			return at + (r->sector - g.off) * SECTOR_BYTES;
		at += g.len * SECTOR_BYTES;
	}
	return UINT64_MAX;
}
