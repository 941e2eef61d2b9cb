#include "common/disk/gpt.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/base/rd.h"
#include "common/base/wr.h"

enum { HEADER_CRC_AT = 16, ARRAY_CRC_AT = 88 };

/* One copy, checked: its header and its array. */
struct copy {
	uint8_t header[SECTOR_BYTES];
	uint32_t header_bytes;
	uint64_t lba, other_lba, first_usable, last_usable, array_lba;
	uint32_t entries, entry_bytes;
	uint8_t *array;			/* owned */
};

static size_t
array_bytes(const struct copy *c)
{
	return (size_t)c->entries * c->entry_bytes;
}

static uint32_t
header_crc(const struct copy *c)
{
	uint8_t h[SECTOR_BYTES];

	memcpy(h, c->header, sizeof h);
	memset(h + HEADER_CRC_AT, 0, 4);
	return (uint32_t)crc32(0, h, c->header_bytes);
}

static int
damaged(struct disk *d, uint64_t lba, const char *what, struct err *e)
{
	return err_set(e, ERR_FORMAT, "%s: GPT at LBA %" PRIu64 ": %s", disk_name(d), lba, what);
}

/* 1 intact, 0 no signature there, -1 damaged or unreadable. */
static int
copy_read(struct copy *c, struct disk *d, unsigned unit, uint64_t lba, struct err *e)
{
	uint64_t lbas = disk_size_bytes(d) / SECTOR_BYTES / unit;

	*c = (struct copy){ .lba = lba };
	if (lba >= lbas)
		return 0;
	if (disk_read(d, c->header, sizeof c->header, lba * unit * SECTOR_BYTES, e) != 0)
		return -1;
	if (memcmp(c->header, "EFI PART", 8) != 0)
		return 0;
	struct rd r = rd_from(c->header, sizeof c->header);
	rd_skip(&r, 12);
	c->header_bytes = rd_le32(&r);
	uint32_t crc = rd_le32(&r);
	rd_skip(&r, 4);
	uint64_t self = rd_le64(&r);
	c->other_lba = rd_le64(&r);
	c->first_usable = rd_le64(&r);
	c->last_usable = rd_le64(&r);
	rd_skip(&r, 16);
	c->array_lba = rd_le64(&r);
	c->entries = rd_le32(&r);
	c->entry_bytes = rd_le32(&r);
	uint32_t array_crc = rd_le32(&r);
	if (c->header_bytes < GPT_HEADER_BYTES || c->header_bytes > sizeof c->header ||
	    header_crc(c) != crc || self != lba)
		return damaged(d, lba, "the header's checksum is wrong", e);
	if (c->entry_bytes < GPT_ENTRY_BYTES || c->entry_bytes % GPT_ENTRY_BYTES != 0 ||
	    c->entries == 0 || c->entries > GPT_ARRAY_MAX / c->entry_bytes)
		return damaged(d, lba, "the size of its array cannot be", e);
	uint64_t sectors = (array_bytes(c) + SECTOR_BYTES - 1) / SECTOR_BYTES;
	if (c->first_usable > c->last_usable || c->last_usable >= lbas || c->array_lba >= lbas ||
	    !range_within((struct range){ c->array_lba * unit, sectors }, lbas * unit))
		return damaged(d, lba, "its places lie outside the disk", e);
	c->array = malloc(array_bytes(c));
	if (c->array == NULL)
		return err_nomem(e, "a GPT array");
	if (disk_read(d, c->array, array_bytes(c), c->array_lba * unit * SECTOR_BYTES, e) != 0)
		return -1;
	if (crc32(0, c->array, (uInt)array_bytes(c)) != array_crc)
		return damaged(d, lba, "the array's checksum is wrong", e);
	return 1;
}

static int
own_copy(struct ptable *t, const struct copy *c, unsigned unit, struct err *e)
{
	uint64_t lba_bytes = (uint64_t)unit * SECTOR_BYTES;
	uint64_t lbas = (array_bytes(c) + lba_bytes - 1) / lba_bytes;

	if (rangeset_add(&t->own, (struct range){ c->lba * unit, unit }, e) != 0)
		return -1;
	return rangeset_add(&t->own, (struct range){ c->array_lba * unit, lbas * unit }, e);
}

/* UTF-16LE to UTF-8, what is not printable as '?'. */
static void
decode_name(struct rd r, char name[73])
{
	size_t n = 0;

	while (rd_left(&r) >= 2 && n + 3 < 73) {
		uint16_t u = rd_le16(&r);
		if (u == 0)
			break;
		if (u < 0x20 || u == 0x7f || (u >= 0xd800 && u < 0xe000)) {
			name[n++] = '?';
		} else if (u < 0x80) {
			name[n++] = (char)u;
		} else if (u < 0x800) {
			name[n++] = (char)(0xc0 | u >> 6);
			name[n++] = (char)(0x80 | (u & 0x3f));
		} else {
			name[n++] = (char)(0xe0 | u >> 12);
			name[n++] = (char)(0x80 | (u >> 6 & 0x3f));
			name[n++] = (char)(0x80 | (u & 0x3f));
		}
	}
	name[n] = '\0';
}

static int
add_entry(struct ptable *t, struct disk *d, const struct copy *c, unsigned unit, uint32_t i,
    struct err *e)
{
	static const uint8_t unused[16];
	struct partition p = { .number = i + 1 };
	struct rd r = rd_from(c->array + (size_t)i * c->entry_bytes, c->entry_bytes);

	rd_copy(&r, p.type_guid, 16);
	rd_copy(&r, p.part_guid, 16);
	uint64_t first = rd_le64(&r), last = rd_le64(&r);
	rd_skip(&r, 8);
	if (memcmp(p.type_guid, unused, 16) == 0)
		return 0;
	decode_name(rd_sub(&r, GPT_NAME_BYTES), p.name);
	if (first > last || first < c->first_usable || last > c->last_usable)
		return err_set(e, ERR_FORMAT, "%s: partition %u (LBA %" PRIu64 " to %" PRIu64
		    ") lies outside the usable area", disk_name(d), i + 1, first, last);
	if (t->nparts == PTABLE_PARTS_MAX)
		return err_set(e, ERR_FORMAT, "%s: more than %d partitions", disk_name(d),
		    PTABLE_PARTS_MAX);
	p.sectors = (struct range){ first * unit, (last - first + 1) * unit };
	t->parts[t->nparts++] = p;
	return 0;
}

static int
use_copy(struct ptable *t, struct disk *d, const struct copy *c, unsigned unit, struct err *e)
{
	t->kind = PTABLE_GPT;
	t->usable = (struct range){ c->first_usable * unit,
		(c->last_usable - c->first_usable + 1) * unit };
	for (uint32_t i = 0; i < c->entries; i++)
		if (add_entry(t, d, c, unit, i, e) != 0)
			return -1;
	return rangeset_add(&t->own, (struct range){ 0, unit }, e);
}

/* Both copies: the second where the first says, else at the disk's end. */
struct copies {
	struct copy c[2];
	int rc[2];		/* as copy_read() */
	struct err err[2];
};

static void
copies_read(struct copies *b, struct disk *d, unsigned unit)
{
	uint64_t last = disk_size_bytes(d) / SECTOR_BYTES / unit - 1;

	b->rc[0] = copy_read(&b->c[0], d, unit, 1, &b->err[0]);
	if (b->rc[0] == 1 && b->c[0].other_lba > 1)
		last = b->c[0].other_lba;
	b->rc[1] = copy_read(&b->c[1], d, unit, last, &b->err[1]);
}

static void
copies_free(struct copies *b)
{
	free(b->c[0].array);
	free(b->c[1].array);
}

int
gpt_read(struct ptable *t, struct disk *d, unsigned unit, struct err *e)
{
	struct copies b;
	int rc = 0;

	if (disk_size_bytes(d) / SECTOR_BYTES / unit < 3)
		return 0;
	copies_read(&b, d, unit);
	if (b.rc[0] == 1 || b.rc[1] == 1) {
		int good = b.rc[0] == 1 ? 0 : 1;
		rc = use_copy(t, d, &b.c[good], unit, e);
		for (int i = 0; i < 2 && rc == 0; i++)
			if (b.rc[i] == 1)
				rc = own_copy(t, &b.c[i], unit, e);
		if (b.rc[1 - good] != 1)
			snprintf(t->warning, sizeof t->warning,
			    "the %s GPT is %s, the %s one is used", good ? "primary" : "backup",
			    b.rc[1 - good] == 0 ? "missing" : "damaged",
			    good ? "backup" : "primary");
	} else if (b.rc[0] < 0 || b.rc[1] < 0) {
		*e = b.err[b.rc[0] < 0 ? 0 : 1];
		rc = -1;
	}
	copies_free(&b);
	return rc;
}

static void
encode_name(uint8_t *at, const char *name)
{
	struct wr w = wr_to(at, GPT_NAME_BYTES);

	memset(at, 0, GPT_NAME_BYTES);
	for (; *name != '\0'; name++)
		wr_le16(&w, (uint8_t)*name);
}

static void
put_le32(uint8_t *at, uint32_t v)
{
	struct wr w = wr_to(at, 4);

	wr_le32(&w, v);
}

static int
copy_write(struct copy *c, struct disk *d, unsigned unit, struct err *e)
{
	uint64_t lba_bytes = (uint64_t)unit * SECTOR_BYTES;

	put_le32(c->header + ARRAY_CRC_AT, (uint32_t)crc32(0, c->array, (uInt)array_bytes(c)));
	put_le32(c->header + HEADER_CRC_AT, header_crc(c));
	if (disk_write(d, c->array, array_bytes(c), c->array_lba * lba_bytes, e) != 0)
		return -1;
	return disk_write(d, c->header, sizeof c->header, c->lba * lba_bytes, e);
}

int
gpt_set_type(struct disk *d, unsigned unit, unsigned number, const uint8_t guid[16],
    const char *name, struct err *e)
{
	struct copies b;
	int rc = 0;

	copies_read(&b, d, unit);
	/* The backup first: whatever happens, one copy is whole. */
	for (int i = 1; i >= 0 && rc == 0; i--) {
		struct copy *c = &b.c[i];
		if (b.rc[i] != 1)
			continue;
		if (number == 0 || number > c->entries) {
			rc = err_set(e, ERR_USAGE, "%s: has no partition %u", disk_name(d),
			    number);
			break;
		}
		uint8_t *entry = c->array + (size_t)(number - 1) * c->entry_bytes;
		memcpy(entry, guid, 16);
		encode_name(entry + GPT_NAME_AT, name);
		rc = copy_write(c, d, unit, e);
	}
	copies_free(&b);
	return rc;
}
