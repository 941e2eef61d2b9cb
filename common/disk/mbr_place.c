/* mbr_place.c: writes an MBR, and the records of logical partitions, with all partitions at
 * other places (ptable_place()).  ptable.c calls this, in its caller's thread.  mbr.c says
 * which field is where, and has read and checked the table. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/field.h"
#include "common/base/wr.h"
#include "common/disk/ptable_impl.h"

enum {
	ENTRIES = 4,
	ENTRIES_AT = 446,
	ENTRY_BYTES = 16,
	FLAG = 0,
	CHS_FIRST = 1,
	TYPE = 4,
	CHS_LAST = 5,
	FIRST = 8,
	COUNT = 12,
	LINK_TYPE = 0x05,
	RECORD_BYTES = 1 << 20, /* a record that moves lies so far in front */
};

/* A logical partition: its record, which has its entry first. */
struct record {
	uint8_t sector[MBR_BYTES];
	uint64_t was;      /* LBA of the record, in the image */
	uint64_t at;       /* on the disk */
	struct range lbas; /* of the partition, on the disk */
};

struct placing {
	struct disk *from, *to;
	const struct ptable *t;
	const struct ptable_place *places;
	unsigned nplaces, lba_bytes;
	uint8_t sector0[MBR_BYTES];
	uint8_t *extended; /* its entry in sector 0; NULL: there is none */
	unsigned n;
	struct record *records; /* owned; PTABLE_PARTS_MAX */
};

static uint8_t *
entry_of(uint8_t *sector, unsigned i)
{
	return sector + ENTRIES_AT + (size_t)i * ENTRY_BYTES;
}

static bool
is_extended(const uint8_t *entry)
{
	uint8_t type = entry[TYPE];

	return get_le32(entry + COUNT) != 0 && (type == 0x05 || type == 0x0f || type == 0x85);
}

/* Set the place of an entry.  One that moves has no cylinders any more: these values say
 * that the sectors count. */
static void
put(uint8_t *entry, uint64_t first, uint64_t count)
{
	static const uint8_t none[3] = { 0xfe, 0xff, 0xff };
	bool same = get_le32(entry + FIRST) == first && get_le32(entry + COUNT) == count;
	struct wr w = wr_to(entry + FIRST, 8);

	wr_le32(&w, (uint32_t)first);
	wr_le32(&w, (uint32_t)count);
	if (same)
		return;
	memcpy(entry + CHS_FIRST, none, sizeof none);
	memcpy(entry + CHS_LAST, none, sizeof none);
}

static int
find(const struct placing *p, unsigned number, struct range *r, struct err *e)
{
	if (ptable_place_lbas(p->places, p->nplaces, number, p->lba_bytes, r, e) != 0)
		return -1;
	return r->off != 0 && range_within(*r, UINT32_MAX)
	           ? 0
	           : err_set(e, ERR_UNSUPPORTED,
			 "partition %u would lie where an MBR cannot say it", number);
}

/* Read the records of the chain that have a partition. */
static int
read_chain(struct placing *p, struct err *e)
{
	uint64_t ext = get_le32(p->extended + FIRST), lba = ext;

	for (unsigned links = 0; lba != 0 && links <= PTABLE_PARTS_MAX; links++) {
		struct record *r = &p->records[p->n];
		if (p->n == PTABLE_PARTS_MAX ||
		    disk_read(p->from, r->sector, MBR_BYTES, lba * p->t->sector_bytes, e) != 0)
			return p->n == PTABLE_PARTS_MAX ? err_nomem(e, "partitions") : -1;
		r->was = lba;
		uint8_t *one = entry_of(r->sector, 0), *two = entry_of(r->sector, 1);
		bool turned = is_extended(one);
		lba = is_extended(two) ? ext + get_le32(two + FIRST)
		      : turned         ? ext + get_le32(one + FIRST)
		                       : 0;
		if (turned)
			memcpy(one, two, ENTRY_BYTES);
		if (get_le32(one + COUNT) != 0 && !is_extended(one) && one[TYPE] != 0)
			p->n++;
	}
	return p->n > 0 ? 0
	                : err_set(e, ERR_UNSUPPORTED,
			      "the extended partition has no logical ones");
}

/* Where the partition that ends last in front of this LBA ends. */
static uint64_t
end_before(const struct placing *p, uint64_t lba)
{
	uint64_t factor = p->lba_bytes / SECTOR_BYTES, end = 1;

	for (unsigned i = 0; i < p->nplaces; i++) {
		uint64_t to = range_end(p->places[i].sectors) / factor;
		if (p->places[i].sectors.off / factor < lba && to > end)
			end = to;
	}
	return end;
}

/* A record stays where it was if its partition does and nothing lies there. */
static int
place_record(const struct placing *p, unsigned i, struct err *e)
{
	struct record *r = &p->records[i];
	uint64_t was = r->was + get_le32(entry_of(r->sector, 0) + FIRST);
	uint64_t gap = RECORD_BYTES / p->lba_bytes;

	if (find(p, ENTRIES + 1 + i, &r->lbas, e) != 0)
		return -1;
	uint64_t end = end_before(p, r->lbas.off);
	bool stays = p->lba_bytes == p->t->sector_bytes && was == r->lbas.off && r->was >= end;
	r->at = stays ? r->was : r->lbas.off - gap;
	return stays || (r->lbas.off >= gap && r->at >= end)
	           ? 0
	           : err_set(e, ERR_UNSUPPORTED,
			 "there is no room for the record of partition %u",
			 ENTRIES + 1 + i);
}

/* Link the records: each names its partition and the next record. */
static void
link_records(struct placing *p)
{
	uint64_t ext = p->records[0].at;

	for (unsigned i = 0; i < p->n; i++) {
		struct record *r = &p->records[i], *next = r + 1;
		uint8_t *two = entry_of(r->sector, 1);
		put(entry_of(r->sector, 0), r->lbas.off - r->at, r->lbas.len);
		memset(two, 0, ENTRY_BYTES);
		if (i + 1 == p->n)
			continue;
		two[TYPE] = LINK_TYPE;
		put(two, next->at - ext, range_end(next->lbas) - next->at);
	}
	put(p->extended, ext, range_end(p->records[p->n - 1].lbas) - ext);
}

static int
place_all(struct placing *p, struct err *e)
{
	struct range r;

	for (unsigned i = 0; i < ENTRIES; i++) {
		uint8_t *entry = entry_of(p->sector0, i);
		if (is_extended(entry))
			p->extended = entry;
		else if (ptable_find(p->t, i + 1) != NULL) {
			if (find(p, i + 1, &r, e) != 0)
				return -1;
			put(entry, r.off, r.len);
		}
	}
	if (p->extended == NULL)
		return 0;
	if (read_chain(p, e) != 0)
		return -1;
	for (unsigned i = 0; i < p->n; i++)
		if (place_record(p, i, e) != 0)
			return -1;
	link_records(p);
	return 0;
}

/* Sector 0, which makes the records known, is written last. */
static int
write_all(struct placing *p, struct err *e)
{
	for (unsigned i = 0; i < p->n; i++)
		if (disk_write(p->to, p->records[i].sector, MBR_BYTES,
			p->records[i].at * p->lba_bytes, e) != 0)
			return -1;
	return disk_write(p->to, p->sector0, sizeof p->sector0, 0, e);
}

int
mbr_place(struct disk *to, struct disk *from, const struct ptable *t,
    const struct ptable_place *places, unsigned n, struct err *e)
{
	struct placing p = { .from = from,
		.to = to,
		.t = t,
		.places = places,
		.nplaces = n,
		.lba_bytes = disk_kind(to) == DISK_BLOCK ? disk_sector_bytes(to)
		                                         : t->sector_bytes,
		.records = calloc(PTABLE_PARTS_MAX, sizeof *p.records) };

	if (p.records == NULL)
		return err_nomem(e, "partitions");
	int rc = disk_read(from, p.sector0, sizeof p.sector0, 0, e);
	if (rc == 0)
		rc = place_all(&p, e);
	if (rc == 0)
		rc = write_all(&p, e);
	free(p.records);
	return rc;
}
