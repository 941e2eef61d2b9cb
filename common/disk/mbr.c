#include "common/disk/mbr.h"

#include <inttypes.h>

#include "common/base/rd.h"

enum { FIRST_LOGICAL = 5 };

bool
mbr_entries(const uint8_t sector[MBR_BYTES], struct mbr_entry entries[MBR_ENTRIES])
{
	struct rd r = rd_from(sector, MBR_BYTES);

	rd_skip(&r, MBR_ENTRIES_AT);
	for (int i = 0; i < MBR_ENTRIES; i++) {
		struct mbr_entry *m = &entries[i];
		m->boot = rd_u8(&r);
		rd_skip(&r, 3);
		m->type = rd_u8(&r);
		rd_skip(&r, 3);
		m->first = rd_le32(&r);
		m->count = rd_le32(&r);
	}
	return rd_le16(&r) == 0xaa55;
}

static bool
is_extended(uint8_t type)
{
	return type == 0x05 || type == 0x0f || type == 0x85;
}

/* A table made by any tool: each entry is either used and sane, or empty. */
static bool
plausible(const struct mbr_entry entries[MBR_ENTRIES])
{
	for (int i = 0; i < MBR_ENTRIES; i++) {
		const struct mbr_entry *m = &entries[i];
		if (m->boot != 0 && m->boot != 0x80)
			return false;
		if (m->type != 0 && (m->first == 0 || m->count == 0))
			return false;
	}
	return true;
}

/* What a walk over all entries, primary and logical, needs to know. */
struct walk {
	struct disk *d;
	unsigned unit;
	int (*found)(struct walk *, unsigned number, uint64_t entry_at,
	    const struct mbr_entry *, uint64_t base, struct err *);
	int (*ebr)(struct walk *, uint64_t sector, struct err *);
	void *arg;
};

static int
read_entries(struct walk *w, uint64_t lba, struct mbr_entry entries[MBR_ENTRIES],
    struct err *e)
{
	uint8_t sector[MBR_BYTES];
	uint64_t at = lba * w->unit;

	if (!range_within((struct range){ at, 1 }, disk_size_bytes(w->d) / SECTOR_BYTES))
		return err_set(e, ERR_FORMAT, "%s: the chain of logical partitions leaves the "
		    "disk at sector %" PRIu64, disk_name(w->d), at);
	if (disk_read(w->d, sector, sizeof sector, at * SECTOR_BYTES, e) != 0)
		return -1;
	return mbr_entries(sector, entries);
}

/* The chain ends at the first link without a next one.  Links go forward only
 * in time: more than the maximum of partitions is a loop. */
static int
walk_logical(struct walk *w, const struct mbr_entry *ext, struct err *e)
{
	struct mbr_entry entries[MBR_ENTRIES];
	uint64_t lba = ext->first;
	unsigned number = FIRST_LOGICAL;

	for (unsigned links = 0; ; links++) {
		if (links == PTABLE_PARTS_MAX)
			return err_set(e, ERR_FORMAT, "%s: the chain of logical partitions does "
			    "not end", disk_name(w->d));
		int rc = read_entries(w, lba, entries, e);
		if (rc < 0)
			return -1;
		if (rc == 0)		/* an empty extended partition has none */
			return links == 0 ? 0 : err_set(e, ERR_FORMAT, "%s: no extended boot "
			    "record at sector %" PRIu64, disk_name(w->d), lba * w->unit);
		if (w->ebr != NULL && w->ebr(w, lba * w->unit, e) != 0)
			return -1;
		if (entries[0].type != 0 && entries[0].count != 0 &&
		    w->found(w, number++, lba * w->unit * SECTOR_BYTES + MBR_ENTRIES_AT,
		    &entries[0], lba, e) != 0)
			return -1;
		if (!is_extended(entries[1].type) || entries[1].count == 0)
			return 0;
		lba = (uint64_t)ext->first + entries[1].first;
	}
}

/* 1 a table was walked, 0 there is none, -1. */
static int
walk_all(struct walk *w, struct err *e)
{
	struct mbr_entry entries[MBR_ENTRIES];
	int rc = read_entries(w, 0, entries, e);

	if (rc <= 0 || !plausible(entries))
		return rc < 0 ? -1 : 0;
	for (unsigned i = 0; i < MBR_ENTRIES; i++) {
		uint64_t at = MBR_ENTRIES_AT + i * MBR_ENTRY_BYTES;
		if (entries[i].type == 0)
			continue;
		if (is_extended(entries[i].type) ? walk_logical(w, &entries[i], e) != 0 :
		    w->found(w, i + 1, at, &entries[i], 0, e) != 0)
			return -1;
	}
	return 1;
}

static int
add_partition(struct walk *w, unsigned number, uint64_t entry_at, const struct mbr_entry *m,
    uint64_t base, struct err *e)
{
	struct ptable *t = w->arg;
	struct range r = { (base + m->first) * w->unit, (uint64_t)m->count * w->unit };

	(void)entry_at;
	if (t->nparts == PTABLE_PARTS_MAX)
		return err_set(e, ERR_FORMAT, "%s: more than %d partitions", disk_name(w->d),
		    PTABLE_PARTS_MAX);
	if (!range_within(r, disk_size_bytes(w->d) / SECTOR_BYTES))
		return err_set(e, ERR_FORMAT, "%s: partition %u (sectors %" PRIu64 " to %" PRIu64
		    ") reaches beyond the disk", disk_name(w->d), number, r.off,
		    range_end(r) - 1);
	t->parts[t->nparts++] = (struct partition){ .number = number, .sectors = r,
		.logical = number >= FIRST_LOGICAL, .mbr_type = m->type };
	return 0;
}

static int
own_sector(struct walk *w, uint64_t sector, struct err *e)
{
	struct ptable *t = w->arg;

	return rangeset_add(&t->own, (struct range){ sector, w->unit }, e);
}

int
mbr_read(struct ptable *t, struct disk *d, unsigned unit, struct err *e)
{
	uint64_t sectors = disk_size_bytes(d) / SECTOR_BYTES;
	struct walk w = { .d = d, .unit = unit, .found = add_partition, .ebr = own_sector,
		.arg = t };

	int rc = walk_all(&w, e);
	if (rc <= 0)
		return rc;
	t->kind = PTABLE_MBR;
	t->usable = (struct range){ unit, sectors - unit };
	return own_sector(&w, 0, e);
}

struct lookup {
	unsigned number;
	bool found;
	uint64_t at;
};

static int
match_number(struct walk *w, unsigned number, uint64_t entry_at, const struct mbr_entry *m,
    uint64_t base, struct err *e)
{
	struct lookup *l = w->arg;

	(void)m, (void)base, (void)e;
	if (number == l->number) {
		l->found = true;
		l->at = entry_at;
	}
	return 0;
}

int
mbr_entry_at(struct disk *d, unsigned unit, unsigned number, uint64_t *at, struct err *e)
{
	struct lookup l = { .number = number };
	struct walk w = { .d = d, .unit = unit, .found = match_number, .arg = &l };

	if (walk_all(&w, e) < 0)
		return -1;
	if (!l.found)
		return err_set(e, ERR_USAGE, "%s: has no partition %u", disk_name(d), number);
	*at = l.at;
	return 0;
}
