/* ptable.c: partition tables of all kinds: the kind is recognised, and mbr.c or gpt.c
 * does the work.  Whoever captures, installs or reads images by partition calls this, in
 * any thread; a table belongs to one thread at a time. */
#include "common/disk/ptable.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/disk/ptable_impl.h"
#include "common/disk/ptype.h"

enum { SECTOR_4K = 4096, MBR_LDM = 0x42, GPT_LDM_DATA = 0x4200 };

struct range
ptable_scale(const struct ptable *t, uint64_t lba, uint64_t count)
{
	uint64_t factor = t->sector_bytes / SECTOR_BYTES;

	return (struct range){ lba * factor, count * factor };
}

uint64_t
ptable_disk_lbas(const struct ptable *t, const struct disk *d)
{
	return disk_size_bytes(d) / t->sector_bytes;
}

int
ptable_check_overlap(
    const struct disk *d, const struct partition *p, unsigned n, struct err *e)
{
	for (unsigned i = 0; i < n; i++) {
		struct range a = p[i].sectors;
		for (unsigned k = 0; k < i && !p[i].empty; k++)
			if (!p[k].empty &&
			    range_clip(p[k].sectors, a.off, range_end(a)).len != 0)
				return err_set(e, ERR_FORMAT,
				    "%s: partitions %u and %u overlap", disk_name(d),
				    p[k].number, p[i].number);
	}
	return 0;
}

/* Start again with an empty table that counts in sectors of sector_bytes. */
static void
reset(struct ptable *t, unsigned sector_bytes)
{
	rangeset_free(&t->own);
	*t = (struct ptable){ .sector_bytes = sector_bytes };
}

static int
read_gpt(struct ptable *t, struct disk *d, struct err *e)
{
	struct err first, second;
	bool found;

	if (gpt_read(t, d, &found, &first) == 0)
		return 0;
	if (disk_kind(d) == DISK_FILE && !found) {
		/* A file does not say which sectors the disk had that it was made from, so
		 * 4096 is tried, too. */
		reset(t, SECTOR_4K);
		if (gpt_read(t, d, &found, &second) == 0)
			return 0;
		if (found)
			first = second;
	}
	*e = first;
	return -1;
}

/* An image says in which sectors its table counts, and an image may say anything. */
static int
check_sector_bytes(const struct disk *d, unsigned bytes, struct err *e)
{
	if (bytes >= SECTOR_BYTES && bytes <= SECTOR_4K && (bytes & (bytes - 1)) == 0)
		return 0;
	return err_set(e, ERR_UNSUPPORTED,
	    "%s: a partition table that counts in sectors of %u bytes cannot be read",
	    disk_name(d), bytes);
}

int
ptable_read(struct ptable *t, struct disk *d, struct err *e)
{
	uint8_t sector0[MBR_BYTES];
	int rc = 0;

	*t = (struct ptable){ .sector_bytes = disk_sector_bytes(d) };
	if (!disk_seekable(d))
		return err_set(e, ERR_UNSUPPORTED,
		    "%s: the partition table of a stream cannot be read", disk_name(d));
	if (ptable_disk_lbas(t, d) == 0)
		return 0;
	if (disk_read(d, sector0, sizeof sector0, 0, e) != 0)
		return -1;
	enum ptable_kind kind = mbr_kind(sector0, ptable_disk_lbas(t, d));
	if (kind != PTABLE_NONE && check_sector_bytes(d, t->sector_bytes, e) != 0)
		return -1;
	switch (kind) {
	case PTABLE_GPT:
		rc = read_gpt(t, d, e);
		break;
	case PTABLE_MBR:
		rc = mbr_read(t, d, sector0, NULL, e);
		break;
	case PTABLE_NONE:
		break;
	}
	if (rc != 0)
		reset(t, t->sector_bytes);
	return rc;
}

void
ptable_free(struct ptable *t)
{
	rangeset_free(&t->own);
}

const struct partition *
ptable_find(const struct ptable *t, unsigned number)
{
	for (unsigned i = 0; i < t->nparts; i++)
		if (t->parts[i].number == number)
			return &t->parts[i];
	return NULL;
}

bool
ptable_overlaps(const struct ptable *t, const struct partition *p)
{
	struct range r = p->sectors;

	for (unsigned i = 0; i < t->nparts; i++)
		if (t->parts[i].number != p->number &&
		    range_clip(t->parts[i].sectors, r.off, range_end(r)).len != 0)
			return true;
	return rangeset_touches(&t->own, r);
}

const struct partition *
ptable_last(const struct ptable *t)
{
	const struct partition *last = NULL;

	for (unsigned i = 0; i < t->nparts; i++) {
		const struct partition *p = &t->parts[i];
		if (last == NULL || range_end(p->sectors) > range_end(last->sectors))
			last = p;
	}
	return last;
}

bool
ptable_is_dynamic(const struct partition *p)
{
	const struct ptype_gpt *type = p->mbr_type == 0 ? ptype_gpt_by_guid(p->type_guid)
	                                                : NULL;

	return p->mbr_type == MBR_LDM || (type != NULL && type->code == GPT_LDM_DATA);
}

const char *
ptable_owner(const struct partition *p)
{
	return p->mbr_type != 0 ? ptype_mbr_owner(p->mbr_type)
	                        : ptype_gpt_owner(p->type_guid);
}

const char *
ptable_numbers(const struct ptable *t, char *buf, size_t cap)
{
	size_t n = 0;

	buf[0] = '\0';
	for (unsigned i = 0; i < t->nparts && n < cap; i++)
		n += (size_t)snprintf(
		    buf + n, cap - n, "%s%u", i > 0 ? ", " : "", t->parts[i].number);
	return buf;
}

const char *
ptable_type_name(
    const struct ptable *t, const struct partition *p, char *buf, size_t cap)
{
	if (t->kind == PTABLE_GPT) {
		const struct ptype_gpt *type = ptype_gpt_by_guid(p->type_guid);
		char text[GUID_TEXT_CAP];
		ptype_guid_text(p->type_guid, text);
		snprintf(buf, cap, "%s", type != NULL ? type->name : text);
	} else {
		const char *name = ptype_mbr_name(p->mbr_type);
		snprintf(buf, cap, "0x%02x%s%s", p->mbr_type, name != NULL ? " " : "",
		    name != NULL ? name : "");
	}
	return buf;
}

int
ptable_set_type(struct disk *d, unsigned number, unsigned code, struct err *e)
{
	struct ptable t;
	int rc = -1;

	if (ptable_read(&t, d, e) != 0)
		return -1;
	switch (t.kind) {
	case PTABLE_GPT:
		rc = gpt_set_type(&t, d, number, code, e);
		break;
	case PTABLE_MBR:
		rc = mbr_set_type(d, number, code, e);
		break;
	case PTABLE_NONE:
		err_set(e, ERR_ABSENT, "%s: no partition table", disk_name(d));
		break;
	}
	ptable_free(&t);
	return rc;
}

int
ptable_remove(struct disk *d, unsigned number, struct err *e)
{
	struct ptable t;

	if (ptable_read(&t, d, e) != 0)
		return -1;
	int rc = t.kind == PTABLE_GPT ? gpt_remove(&t, d, number, e)
	                              : mbr_remove(d, number, e);
	ptable_free(&t);
	return rc;
}

int
ptable_fit(struct disk *d, unsigned from_bytes, bool grow, struct ptable_change *done,
    struct err *e)
{
	uint8_t sector0[MBR_BYTES];

	*done = (struct ptable_change){ .moved = false };
	if (!disk_seekable(d) || disk_size_bytes(d) < MBR_BYTES)
		return 0;
	if (disk_read(d, sector0, sizeof sector0, 0, e) != 0)
		return -1;
	enum ptable_kind kind = mbr_kind(sector0, disk_size_bytes(d) / from_bytes);
	if (kind != PTABLE_NONE && (check_sector_bytes(d, from_bytes, e) != 0 ||
				       check_sector_bytes(d, disk_sector_bytes(d), e) != 0))
		return -1;
	switch (kind) {
	case PTABLE_GPT:
		return gpt_fit(d, from_bytes, grow, done, e);
	case PTABLE_MBR:
		return mbr_fit(d, from_bytes, grow, done, e);
	default:
		return 0;
	}
}

int
ptable_cut(struct disk *d, const struct ptable *t, unsigned number, uint64_t part_sectors,
    uint64_t *disk_sectors, struct err *e)
{
	const struct partition *p = ptable_find(t, number);

	if (number != 0 && (p == NULL || part_sectors == 0 || part_sectors > p->sectors.len))
		return err_set(e, ERR_USAGE, "%s: partition %u cannot be that long",
		    disk_name(d), number);
	if (p != NULL && (p->logical || part_sectors % (t->sector_bytes / SECTOR_BYTES) != 0))
		return err_set(e, ERR_UNSUPPORTED,
		    "%s: partition %u is logical, or would not be whole sectors",
		    disk_name(d), number);
	switch (t->kind) {
	case PTABLE_GPT:
		return gpt_cut(d, t, number, part_sectors, disk_sectors, e);
	case PTABLE_MBR:
		return mbr_cut(d, t, number, part_sectors, disk_sectors, e);
	default:
		*disk_sectors = disk_size_bytes(d) / SECTOR_BYTES;
		return 0;
	}
}

int
ptable_end_at(struct disk *d, const struct ptable *t, uint64_t disk_sectors, struct err *e)
{
	return t->kind == PTABLE_GPT ? gpt_end_at(d, t, disk_sectors, e) : 0;
}

int
ptable_place_lbas(const struct ptable_place *p, unsigned n, unsigned number,
    unsigned lba_bytes, struct range *lbas, struct err *e)
{
	uint64_t factor = lba_bytes / SECTOR_BYTES;
	unsigned i = 0;

	while (i < n && p[i].number != number)
		i++;
	if (i == n || p[i].sectors.len == 0 || p[i].sectors.off % factor != 0 ||
	    p[i].sectors.len % factor != 0)
		return err_set(e, ERR_UNSUPPORTED,
		    "partition %u has no place of whole sectors", number);
	*lbas = (struct range){ p[i].sectors.off / factor, p[i].sectors.len / factor };
	return 0;
}

int
ptable_place(struct disk *to, struct disk *from, const struct ptable *t,
    const struct ptable_place *p, unsigned n, struct err *e)
{
	return t->kind == PTABLE_GPT ? gpt_place(to, from, t, p, n, e)
	                             : mbr_place(to, from, t, p, n, e);
}
