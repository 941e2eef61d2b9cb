/* gpt.c: a GPT is read, checked, and changed in place.  ptable.c calls this, in its
 * caller's thread; gpt_fit.c uses what reads it.  Source: UEFI 2.10 section 5.3.  There are
 * two copies, each a header of one LBA and an array of entries.  Everything is
 * little-endian:
 *
 *	header	0 "EFI PART", 8 u32 revision, 12 u32 header bytes, 16 u32 CRC of
 *		the header (taken as 0 meanwhile), 20 u32 0, 24 u64 this LBA,
 *		32 u64 LBA of the other header, 40 u64 first usable LBA, 48 u64
 *		last usable LBA, 56 disk GUID, 72 u64 LBA of the array, 80 u32
 *		entries, 84 u32 bytes an entry, 88 u32 CRC of the array
 *	entry	0 type GUID (zeros: unused), 16 partition GUID, 32 u64 first LBA,
 *		40 u64 last LBA, 48 u64 attributes, 56 name, 36 units of UTF-16
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/base/plain.h"
#include "common/base/rd.h"
#include "common/base/wr.h"
#include "common/disk/gpt_impl.h"
#include "common/disk/ptype.h"

/* The CRC of a header, computed as if the field of the CRC were zero. */
uint32_t
gpt_header_crc(const struct gpt_copy *c)
{
	static const uint8_t zero[4];
	size_t after = HEADER_CRC + sizeof zero;
	uLong crc = crc32(0, c->sector, HEADER_CRC);

	crc = crc32(crc, zero, sizeof zero);
	return (uint32_t)crc32(crc, c->sector + after, (uInt)(c->header_bytes - after));
}

/* Decode the header in c->sector; false when it is no header. */
static bool
header_get(struct gpt_copy *c, unsigned lba_bytes)
{
	struct rd r = rd_from(c->sector, lba_bytes);
	char sign[sizeof gpt_magic];

	rd_copy(&r, sign, sizeof sign);
	rd_skip(&r, 4);
	c->header_bytes = rd_le32(&r);
	c->crc = rd_le32(&r);
	rd_skip(&r, 4);
	uint64_t lba = rd_le64(&r);
	c->alternate = rd_le64(&r);
	c->first_usable = rd_le64(&r);
	c->last_usable = rd_le64(&r);
	rd_skip(&r, GUID_BYTES);
	c->array_lba = rd_le64(&r);
	c->nentries = rd_le32(&r);
	c->entry_bytes = rd_le32(&r);
	c->array_crc = rd_le32(&r);
	return rd_ok(&r) && memcmp(sign, gpt_magic, sizeof sign) == 0 && lba == c->lba;
}

/* Does the header describe a disk like this one?  NULL, or what is wrong. */
static const char *
header_fault(const struct gpt_copy *c, unsigned lba_bytes, uint64_t disk_lbas)
{
	if (c->header_bytes < HEADER_BYTES || c->header_bytes > lba_bytes)
		return "the header has an impossible length";
	if (gpt_header_crc(c) != c->crc)
		return "the header's checksum is wrong";
	if (c->entry_bytes < ENTRY_BYTES || c->entry_bytes > LBA_BYTES_MAX ||
	    (c->entry_bytes & (c->entry_bytes - 1)) != 0 || c->nentries == 0 ||
	    c->nentries > ARRAY_BYTES_MAX / c->entry_bytes)
		return "the array has an impossible size";
	if (c->last_usable >= disk_lbas)
		return "it is for a larger disk";
	struct range a = gpt_array_lbas(c, lba_bytes), header = { c->lba, 1 };
	uint64_t lo = c->first_usable, hi = c->last_usable + 1;
	if (lo < 2 || lo >= hi || a.off < 2 || !range_within(a, disk_lbas) ||
	    range_clip(a, lo, hi).len != 0 || range_clip(header, lo, hi).len != 0 ||
	    range_clip(a, c->lba, c->lba + 1).len != 0)
		return "the table lies where partitions are, or outside the disk";
	return NULL;
}

/* Read a code point of UTF-16.  A broken or harmful one (plain.h) becomes '?'. */
static uint32_t
utf16_get(struct rd *r)
{
	uint32_t hi = rd_le16(r);

	if (hi >= 0xd800 && hi < 0xdc00) {
		struct rd ahead = *r;
		uint32_t lo = rd_le16(&ahead);
		if (lo < 0xdc00 || lo > 0xdfff)
			return '?';
		*r = ahead;
		return 0x10000 + ((hi - 0xd800) << 10) + (lo - 0xdc00);
	}
	bool alone = hi >= 0xdc00 && hi < 0xe000;
	return alone || (hi != 0 && plain_is_harmful(hi)) ? '?' : hi;
}

static void
utf8_put(struct wr *w, uint32_t c)
{
	static const uint8_t lead[5] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	unsigned n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	wr_u8(w, (uint8_t)(lead[n] | c >> 6 * (n - 1)));
	while (--n > 0)
		wr_u8(w, (uint8_t)(0x80 | (c >> 6 * (n - 1) & 0x3f)));
}

/* Read a name up to its first zero.  It always fits, and the rest is filled with zeros. */
static void
name_get(struct rd r, char name[PTABLE_NAME_CAP])
{
	struct wr w = wr_to(name, PTABLE_NAME_CAP);
	uint32_t c;

	while (rd_left(&r) > 0 && (c = utf16_get(&r)) != 0)
		utf8_put(&w, c);
	wr_zero(&w, PTABLE_NAME_CAP - wr_len(&w));
}

/* Note that an entry is passed over, as by the kernel. */
static void
pass_over(struct gpt_copy *c, unsigned number, uint64_t first, uint64_t last)
{
	if (c->npassed++ == 0)
		snprintf(c->passed, sizeof c->passed,
		    "partition %u is passed over: it %s (sectors %" PRIu64 " to %" PRIu64
		    ")",
		    number, first > last ? "has no length" : "ends behind the disk",
		    first, last);
}

static int
add_entry(struct gpt_copy *c, const struct ptable *t, unsigned number, uint64_t disk_lbas,
    struct rd r)
{
	static const uint8_t unused[GUID_BYTES];
	struct partition p = { .number = number };

	rd_copy(&r, p.type_guid, GUID_BYTES);
	rd_copy(&r, p.part_guid, GUID_BYTES);
	uint64_t first = rd_le64(&r), last = rd_le64(&r);
	rd_skip(&r, 8);
	name_get(rd_sub(&r, NAME_UNITS * 2), p.name);
	if (!rd_ok(&r) || memcmp(p.type_guid, unused, GUID_BYTES) == 0)
		return 0;
	if (first > last || last >= disk_lbas) {
		pass_over(c, number, first, last);
		return 0;
	}
	if (first < c->first_usable || last > c->last_usable)
		return err_set(&c->why, ERR_FORMAT,
		    "partition %u (sectors %" PRIu64 " to %" PRIu64
		    ") is not inside the usable sectors (%" PRIu64 " to %" PRIu64 ")",
		    number, first, last, c->first_usable, c->last_usable);
	if (c->nparts == PTABLE_PARTS_MAX)
		return err_set(&c->why, ERR_UNSUPPORTED, "more than %u partitions",
		    PTABLE_PARTS_MAX);
	p.sectors = ptable_scale(t, first, last - first + 1);
	c->parts[c->nparts++] = p;
	return 0;
}

static int
array_read(struct gpt_copy *c, const struct ptable *t, struct disk *d)
{
	size_t n = gpt_array_bytes(c);

	if ((c->array = malloc(n)) == NULL)
		return err_nomem(&c->why, "GPT");
	if (disk_read(d, c->array, n, c->array_lba * t->sector_bytes, &c->why) != 0)
		return -1;
	if ((uint32_t)crc32(0, c->array, (uInt)n) != c->array_crc)
		return err_set(&c->why, ERR_FORMAT, "the array's checksum is wrong");
	struct rd r = rd_from(c->array, n);
	for (unsigned i = 0; i < c->nentries; i++)
		if (add_entry(c, t, i + 1, ptable_disk_lbas(t, d),
			rd_sub(&r, c->entry_bytes)) != 0)
			return -1;
	return ptable_check_overlap(d, c->parts, c->nparts, &c->why);
}

/* Try to read the copy whose header is at lba; c->whole and c->why tell the result.  What
 * was in c is overwritten, so its array must have been freed. */
static void
copy_read(struct gpt_copy *c, const struct ptable *t, struct disk *d, uint64_t lba)
{
	unsigned lba_bytes = t->sector_bytes;

	memset(c, 0, sizeof *c);
	c->lba = lba;
	if (disk_read(d, c->sector, lba_bytes, lba * lba_bytes, &c->why) != 0)
		return;
	c->found = header_get(c, lba_bytes);
	if (!c->found) {
		err_set(&c->why, ERR_FORMAT, "no header in sector %" PRIu64, lba);
		return;
	}
	const char *fault = header_fault(c, lba_bytes, ptable_disk_lbas(t, d));
	c->sound = fault == NULL;
	if (!c->sound)
		err_set(&c->why, ERR_FORMAT, "%s", fault);
	else
		c->whole = array_read(c, t, d) == 0;
}

void
gpt_free(struct gpt *g)
{
	if (g != NULL) {
		free(g->primary.array);
		free(g->backup.array);
	}
	free(g);
}

struct gpt *
gpt_load(const struct ptable *t, struct disk *d, struct err *e)
{
	uint64_t last = ptable_disk_lbas(t, d) - 1;
	struct gpt *g = calloc(1, sizeof *g);

	if (g == NULL) {
		err_nomem(e, "GPT");
		return NULL;
	}
	copy_read(&g->primary, t, d, 1);
	copy_read(&g->backup, t, d, last);
	/* On a disk that has grown, the backup still is where the disk ended before. */
	if (!g->backup.whole && g->primary.whole && g->primary.alternate < last &&
	    g->primary.alternate > 1) {
		free(g->backup.array);
		copy_read(&g->backup, t, d, g->primary.alternate);
	}
	/* A lack of memory says nothing about the table. */
	if (g->primary.why.kind == ERR_NOMEM || g->backup.why.kind == ERR_NOMEM) {
		gpt_free(g);
		err_nomem(e, "GPT");
		return NULL;
	}
	return g;
}

static int
own_add(struct ptable *t, uint64_t lba, uint64_t count, struct err *e)
{
	return rangeset_add(&t->own, ptable_scale(t, lba, count), e);
}

/* Find the sectors that the table itself takes.  For a copy that is damaged, these are the
 * sectors where it belongs. */
static int
find_own(struct ptable *t, const struct gpt *g, const struct gpt_copy *used,
    uint64_t disk_lbas, struct err *e)
{
	const struct gpt_copy *p = &g->primary, *b = &g->backup;
	struct range a = gpt_array_lbas(used, t->sector_bytes);
	uint64_t behind = disk_lbas - 1 - used->last_usable;
	uint64_t tail = a.len + 1 < behind ? a.len + 1 : behind;
	struct rangeset usable;
	int rc = 0;

	rangeset_init(&usable);
	if (p->whole)
		a = gpt_array_lbas(p, t->sector_bytes);
	else
		a.off = 2;
	a = range_clip(a, 0, disk_lbas);
	if (own_add(t, 0, 2, e) != 0 || own_add(t, a.off, a.len, e) != 0)
		rc = -1;
	if (b->whole) {
		a = gpt_array_lbas(b, t->sector_bytes);
		if (own_add(t, b->lba, 1, e) != 0 || own_add(t, a.off, a.len, e) != 0)
			rc = -1;
	} else if (own_add(t, disk_lbas - tail, tail, e) != 0) {
		rc = -1;
	}
	if (rc == 0)
		rc = rangeset_add(&usable, t->usable, e);
	rangeset_seal(&usable);
	if (rc == 0)
		rc = rangeset_minus(&t->own, &usable, e);
	rangeset_free(&usable);
	return rc;
}

/* Say which entries are passed over, beside what else the warning says. */
static void
warn_passed(struct ptable *t, const struct gpt_copy *used)
{
	size_t n = strlen(t->warning);

	if (used->npassed == 0)
		return;
	snprintf(t->warning + n, sizeof t->warning - n, "%s%s", n > 0 ? "; " : "",
	    used->passed);
	n = strlen(t->warning);
	if (used->npassed > 1)
		snprintf(t->warning + n, sizeof t->warning - n, ", and %u more",
		    used->npassed - 1);
}

static void
warn(struct ptable *t, const struct gpt *g, uint64_t disk_lbas)
{
	const struct gpt_copy *p = &g->primary, *b = &g->backup;

	if (!p->whole)
		snprintf(t->warning, sizeof t->warning,
		    "the primary GPT is damaged (%.150s): the backup is used",
		    p->why.text);
	else if (!b->whole)
		snprintf(t->warning, sizeof t->warning,
		    "the backup GPT is damaged (%.150s): the primary GPT is used",
		    b->why.text);
	else if (p->nentries != b->nentries || p->array_crc != b->array_crc)
		snprintf(t->warning, sizeof t->warning,
		    "the two copies of the GPT differ: the primary GPT is used");
	else if (b->lba != disk_lbas - 1)
		snprintf(t->warning, sizeof t->warning,
		    "backup GPT is not at the end of the disk");
}

/* Say why neither copy can be used. */
static int
both_bad(const struct gpt *g, const struct disk *d, struct err *e)
{
	const struct err *p = &g->primary.why, *b = &g->backup.why;
	enum err_kind kind = p->kind != ERR_FORMAT ? p->kind : b->kind;

	return err_set(e, kind,
	    "%s: both copies of the GPT are damaged: primary: %.150s; "
	    "backup: %.150s",
	    disk_name(d), p->text, b->text);
}

int
gpt_read(struct ptable *t, struct disk *d, bool *found, struct err *e)
{
	uint64_t disk_lbas = ptable_disk_lbas(t, d);
	int rc = -1;

	*found = false;
	t->kind = PTABLE_GPT;
	if (disk_lbas < 4)
		return err_set(e, ERR_FORMAT,
		    "%s: too small for the GPT it should have", disk_name(d));
	struct gpt *g = gpt_load(t, d, e);
	if (g == NULL)
		return -1;
	*found = g->primary.found || g->backup.found;
	const struct gpt_copy *used = g->primary.whole ? &g->primary : &g->backup;
	if (!used->whole) {
		both_bad(g, d, e);
	} else {
		t->nparts = used->nparts;
		t->array_bytes = gpt_array_bytes(used);
		memcpy(t->parts, used->parts, sizeof t->parts);
		t->usable = ptable_scale(
		    t, used->first_usable, used->last_usable - used->first_usable + 1);
		warn(t, g, disk_lbas);
		warn_passed(t, used);
		rc = find_own(t, g, used, disk_lbas, e);
	}
	gpt_free(g);
	return rc;
}

/* Write an entry of one copy, then its CRCs. */
static int
copy_write_entry(struct gpt_copy *c, const struct ptable *t, struct disk *d, size_t at,
    struct err *e)
{
	struct wr crc = wr_to(c->sector + ARRAY_CRC, 4);

	wr_le32(&crc, (uint32_t)crc32(0, c->array, (uInt)gpt_array_bytes(c)));
	crc = wr_to(c->sector + HEADER_CRC, 4);
	wr_le32(&crc, gpt_header_crc(c));
	if (disk_write(d, c->array + at, ENTRY_BYTES,
		c->array_lba * t->sector_bytes + at, e) != 0)
		return -1;
	return disk_write(d, c->sector, c->header_bytes, c->lba * t->sector_bytes, e);
}

/* Set the type and the name of an entry; with NULL the entry is unused from now on. */
static int
copy_set_type(struct gpt_copy *c, const struct ptable *t, struct disk *d,
    unsigned number, const struct ptype_gpt *type, struct err *e)
{
	size_t at = (size_t)(number - 1) * c->entry_bytes;

	if (type == NULL) {
		memset(c->array + at, 0, ENTRY_BYTES);
		return copy_write_entry(c, t, d, at, e);
	}
	struct wr name = wr_to(c->array + at + ENTRY_NAME, NAME_UNITS * 2);
	ptype_guid_bytes(type->guid, c->array + at);
	for (const char *s = type->name; *s != '\0'; s++)
		wr_le16(&name, (uint8_t)*s);
	wr_zero(&name, NAME_UNITS * 2 - wr_len(&name));
	return copy_write_entry(c, t, d, at, e);
}

/* Does this copy have that partition where the table in use has it? */
static bool
copy_has(const struct gpt_copy *c, const struct partition *p)
{
	for (unsigned i = 0; c->whole && i < c->nparts; i++)
		if (c->parts[i].number == p->number)
			return c->parts[i].sectors.off == p->sectors.off &&
			       c->parts[i].sectors.len == p->sectors.len;
	return false;
}

/* Change an entry in both copies; type NULL: remove it. */
static int
change_entry(const struct ptable *t, struct disk *d, unsigned number,
    const struct ptype_gpt *type, struct err *e)
{
	const struct partition *p = ptable_find(t, number);
	int rc = 0;

	if (p == NULL)
		return err_set(
		    e, ERR_ABSENT, "%s: no partition %u", disk_name(d), number);
	struct gpt *g = gpt_load(t, d, e);
	if (g == NULL)
		return -1;
	/* The copies are written one after the other, so that at any time one copy on the
	 * disk is whole. */
	if (copy_has(&g->backup, p))
		rc = copy_set_type(&g->backup, t, d, number, type, e);
	if (rc == 0)
		rc = disk_sync(d, e);
	if (rc == 0 && copy_has(&g->primary, p))
		rc = copy_set_type(&g->primary, t, d, number, type, e);
	gpt_free(g);
	return rc;
}

int
gpt_remove(const struct ptable *t, struct disk *d, unsigned number, struct err *e)
{
	return change_entry(t, d, number, NULL, e);
}

int
gpt_set_type(const struct ptable *t, struct disk *d, unsigned number, unsigned code,
    struct err *e)
{
	const struct ptype_gpt *type = ptype_gpt_by_code(code);

	if (type != NULL)
		return change_entry(t, d, number, type, e);
	if (ptable_find(t, number) == NULL)
		return err_set(
		    e, ERR_ABSENT, "%s: no partition %u", disk_name(d), number);
	err_set(e, ERR_USAGE,
	    "%s: %u (0x%x) is not a known GPT partition type: the type of partition %u "
	    "is not changed",
	    disk_name(d), code, code, number);
	return 1;
}
