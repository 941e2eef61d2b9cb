#include "common/disk/ptable.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/disk/gpt.h"
#include "common/disk/mbr.h"
#include "common/disk/ptype.h"

/* Sort by start, look at neighbours. */
static int
by_start(const void *a, const void *b)
{
	const struct partition *x = *(const struct partition *const *)a;
	const struct partition *y = *(const struct partition *const *)b;

	return (x->sectors.off > y->sectors.off) - (x->sectors.off < y->sectors.off);
}

static int
check_overlap(const struct ptable *t, struct disk *d, struct err *e)
{
	const struct partition *p[PTABLE_PARTS_MAX];

	for (unsigned i = 0; i < t->nparts; i++)
		p[i] = &t->parts[i];
	qsort(p, t->nparts, sizeof p[0], by_start);
	for (unsigned i = 1; i < t->nparts; i++)
		if (range_end(p[i - 1]->sectors) > p[i]->sectors.off)
			return err_set(e, ERR_FORMAT, "%s: partitions %u and %u overlap",
			    disk_name(d), p[i - 1]->number, p[i]->number);
	return 0;
}

static bool
is_protective(const struct ptable *t)
{
	for (unsigned i = 0; i < t->nparts; i++)
		if (t->parts[i].mbr_type == MBR_TYPE_PROTECTIVE)
			return true;
	return false;
}

static bool
mbr_says_gpt(struct disk *d, struct err *e)
{
	uint8_t sector[MBR_BYTES];
	struct mbr_entry entries[MBR_ENTRIES];

	if (disk_read(d, sector, sizeof sector, 0, e) != 0 || !mbr_entries(sector, entries))
		return false;
	for (int i = 0; i < MBR_ENTRIES; i++)
		if (entries[i].type == MBR_TYPE_PROTECTIVE)
			return true;
	return false;
}

static int
read_with_unit(struct ptable *t, struct disk *d, unsigned unit, struct err *e)
{
	/* Without a protective MBR an old GPT is debris behind a newer MBR. */
	if (mbr_says_gpt(d, e) && gpt_read(t, d, unit, e) != 0)
		return -1;
	return 0;
}

int
ptable_read(struct ptable *t, struct disk *d, struct err *e)
{
	unsigned unit = disk_sector_bytes(d) / SECTOR_BYTES;

	memset(t, 0, sizeof *t);
	rangeset_init(&t->own);
	if (!disk_seekable(d) || disk_size_bytes(d) < 2 * SECTOR_BYTES)
		return 0;
	int rc = read_with_unit(t, d, unit, e);
	/* A file may be the image of a disk with 4096-byte sectors. */
	if (rc == 0 && t->kind == PTABLE_NONE && disk_kind(d) == DISK_FILE)
		rc = read_with_unit(t, d, unit = 8, e);
	if (rc == 0 && t->kind == PTABLE_NONE) {
		unit = disk_sector_bytes(d) / SECTOR_BYTES;
		rc = mbr_read(t, d, unit, e);
		if (rc == 0 && t->kind == PTABLE_MBR && is_protective(t))
			rc = err_set(e, ERR_FORMAT, "%s: has a protective MBR, but neither copy "
			    "of its GPT", disk_name(d));
	}
	if (rc == 0)
		rc = check_overlap(t, d, e);
	t->sector_bytes = unit * SECTOR_BYTES;
	if (rc != 0)
		ptable_free(t);
	return rc;
}

void
ptable_free(struct ptable *t)
{
	rangeset_free(&t->own);
	t->kind = PTABLE_NONE;
	t->nparts = 0;
}

const struct partition *
ptable_find(const struct ptable *t, unsigned number)
{
	for (unsigned i = 0; i < t->nparts; i++)
		if (t->parts[i].number == number)
			return &t->parts[i];
	return NULL;
}

const char *
ptable_type_name(const struct ptable *t, const struct partition *p, char *buf, size_t cap)
{
	const struct ptype *type = t->kind == PTABLE_GPT ? ptype_by_guid(p->type_guid) :
	    ptype_by_mbr(p->mbr_type);

	if (type != NULL && t->kind == PTABLE_GPT)
		snprintf(buf, cap, "%s", type->name);
	else if (type != NULL)
		snprintf(buf, cap, "0x%02x %s", p->mbr_type, type->name);
	else if (t->kind == PTABLE_GPT)
		snprintf(buf, cap, "unknown GUID");
	else
		snprintf(buf, cap, "0x%02x", p->mbr_type);
	return buf;
}

static int
set_mbr_type(struct disk *d, const struct ptable *t, unsigned number, unsigned code,
    struct err *e)
{
	uint64_t at;
	uint8_t type = (uint8_t)code;

	if (code == 0 || code > 255)
		return err_set(e, ERR_USAGE, "%u is not a type for an MBR partition", code);
	if (mbr_entry_at(d, t->sector_bytes / SECTOR_BYTES, number, &at, e) != 0)
		return -1;
	return disk_write(d, &type, 1, at + MBR_TYPE_AT, e);
}

int
ptable_set_type(struct disk *d, unsigned number, unsigned code, struct err *e)
{
	struct ptable t;

	if (ptable_read(&t, d, e) != 0)
		return -1;
	int rc = 0;
	if (ptable_find(&t, number) == NULL) {
		rc = err_set(e, ERR_USAGE, "%s: has no partition %u", disk_name(d), number);
	} else if (t.kind == PTABLE_MBR) {
		rc = set_mbr_type(d, &t, number, code, e);
	} else {
		const struct ptype *type = ptype_by_code(code);
		rc = type == NULL ? err_set(e, ERR_USAGE, "%u (0x%x) is not a known type for a "
		    "GPT partition", code, code) :
		    gpt_set_type(d, t.sector_bytes / SECTOR_BYTES, number, type->guid,
		    type->name, e);
	}
	ptable_free(&t);
	return rc;
}
