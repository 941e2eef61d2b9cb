/* areas.c: finds where partitions are, by the partition table and the disklabels.
 * free_space.c, state_slot.c, target_finish.c and rehearsal.c call this: in the thread that feeds,
 * when chunk 0 comes, and at the end, when all other threads are gone. stream/disk/clear.c
 * calls it when a streaming disk begins. */
#include "common/target/areas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/disk/bsdlabel.h"
#include "common/disk/ptable.h"
#include "common/target/first_mib.h"

enum {
	FIRST_CAP = 16,
	TYPE_FREEBSD = 0xa5,
	TYPE_OPENBSD = 0xa6,
	TYPE_NETBSD = 0xa9,
};

void
areas_init(struct areas *s)
{
	*s = (struct areas){ 0 };
	rangeset_init(&s->table);
}

void
areas_free(struct areas *s)
{
	free(s->a);
	rangeset_free(&s->table);
	areas_init(s);
}

int
areas_add(struct areas *s, struct area a, struct err *e)
{
	if (s->n == s->cap) {
		size_t cap = s->cap == 0 ? FIRST_CAP : 2 * s->cap;
		struct area *more = reallocarray(s->a, cap, sizeof *more);
		if (more == NULL)
			return err_nomem(e, "list of partitions");
		s->a = more;
		s->cap = cap;
	}
	s->a[s->n++] = a;
	return 0;
}

/* The boot area of a slice belongs to no partition inside it: the label lies there.  A
 * partition that the label calls swap is left out of images because nothing in it is worth
 * keeping, so it is no area but free space, as all programs take it. */
static int
add_inside(struct areas *s, struct disk *d, struct range slice,
    const struct rangeset *stored, struct err *e)
{
	struct bsdlabel l;
	struct err why;

	if (bsdlabel_read(&l, d, slice, &why) != 0)
		return 0; /* nothing inside it can have been left out */
	for (unsigned i = 0; i < l.nparts; i++) {
		struct range r = range_clip(
		    l.parts[i].sectors, BSDLABEL_BOOT_SECTORS, UINT64_MAX);
		r.off += slice.off;
		struct area a = { .sectors = r,
			.inside = true,
			.some = stored != NULL && rangeset_touches(stored, r) };
		if (l.parts[i].type != BSDLABEL_SWAP && r.len != 0 &&
		    areas_add(s, a, e) != 0)
			return -1;
	}
	return 0;
}

/* Add all of a disk that has no table. */
static int
add_whole(struct areas *s, struct disk *d, struct range all,
    const struct rangeset *stored, struct err *e)
{
	struct area a = { .sectors = all,
		.some = stored != NULL && rangeset_touches(stored, all) };

	return areas_add(s, a, e) == 0 ? add_inside(s, d, all, stored, e) : -1;
}

/* Add the partitions of a disklabel.  If it cannot be read, the partition at `at` becomes
 * unsure, if it may have a label. */
static int
look_inside(struct areas *s, size_t at, struct disk *d, bool may_have,
    const struct rangeset *stored, struct err *e)
{
	struct range slice = s->a[at].sectors;
	struct err why;
	int found = bsdlabel_found(d, slice, &why);

	if (found == 1)
		return add_inside(s, d, slice, stored, e);
	s->a[at].unsure = found < 0 && may_have;
	return 0;
}

/* Does the image describe partition `number` as a disklabel? The description has items
 * like "2:ext4" and can be cut; a partition that is not in it counts as a disklabel. */
static bool
described_as_label(const char *filesystems, unsigned number)
{
	char key[16], *end;
	size_t n = (size_t)snprintf(key, sizeof key, "%u:", number);

	for (const char *p = filesystems; p != NULL; p = strchr(p, ' ')) {
		p += *p == ' ';
		if (strtoul(p, &end, 10) == number && strncmp(p, key, n) == 0)
			return strncmp(p + n, "bsdlabel", 8) == 0;
	}
	return true;
}

bool
areas_may_have_label(const struct partition *p, const char *filesystems)
{
	bool typed = p->mbr_type == TYPE_FREEBSD || p->mbr_type == TYPE_OPENBSD ||
	             p->mbr_type == TYPE_NETBSD;

	return filesystems != NULL
	           ? typed || described_as_label(filesystems, p->number)
	           : typed;
}

/* Where another partition, or a piece of the table, ends that has this sector; without
 * one, the sector itself. */
static uint64_t
end_of_other(const struct areas *s, size_t at, uint64_t sector)
{
	size_t k = rangeset_find(&s->table, sector);

	for (size_t i = 0; i < s->n; i++)
		if (i != at && s->a[i].number != 0 && sector >= s->a[i].sectors.off &&
		    sector < range_end(s->a[i].sectors))
			return range_end(s->a[i].sectors);
	return k < rangeset_count(&s->table) && rangeset_get(&s->table, k).off <= sector
	           ? range_end(rangeset_get(&s->table, k))
	           : sector;
}

/* Does this range have sectors of the area that are its own? */
static bool
touches(const struct areas *s, size_t at, struct range r)
{
	struct range own = s->a[at].sectors;

	r = range_clip(r, own.off, range_end(own));
	while (s->a[at].shares && r.len != 0) {
		uint64_t next = end_of_other(s, at, r.off);
		if (next == r.off)
			return true;
		r = range_clip(r, next, range_end(own));
	}
	return r.len != 0;
}

/* Find the areas that share sectors with others, and whether anything is stored of what
 * is their own. */
static int
find_sharing(struct areas *s, const struct ptable *pt, const struct rangeset *stored,
    struct err *e)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct partition *p =
		    s->a[i].number != 0 ? ptable_find(pt, s->a[i].number) : NULL;
		s->a[i].shares = p != NULL && p->empty && ptable_overlaps(pt, p);
		if (!s->a[i].shares)
			continue;
		if (rangeset_union(&s->table, &pt->own, e) != 0)
			return -1;
		s->a[i].some = false;
		for (size_t k = 0; stored != NULL && k < rangeset_count(stored); k++)
			s->a[i].some |= touches(s, i, rangeset_get(stored, k));
	}
	return 0;
}

static int
add_table(struct areas *s, const struct ptable *pt, struct disk *d,
    const struct rangeset *stored, const char *filesystems, struct err *e)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < pt->nparts; i++) {
		const struct partition *p = &pt->parts[i];
		struct area a = { .sectors = p->sectors,
			.number = p->number,
			.some = stored != NULL && rangeset_touches(stored, p->sectors) };
		rc = areas_add(s, a, e);
		/* A partition that was left out is not looked into. */
		if (rc == 0 && (stored == NULL || a.some))
			rc = look_inside(s, s->n - 1, d,
			    stored != NULL || areas_may_have_label(p, filesystems),
			    stored, e);
	}
	return rc == 0 ? find_sharing(s, pt, stored, e) : -1;
}

static int
read_table(struct areas *s, struct disk *d, unsigned sector_bytes,
    const struct rangeset *stored, const char *filesystems, struct err *e)
{
	unsigned own = disk_sector_bytes(d);
	struct ptable pt;
	struct err why;

	if (sector_bytes != 0)
		disk_set_sector_bytes(d, sector_bytes);
	int rc = ptable_read(&pt, d, &why);
	disk_set_sector_bytes(d, own);
	if (rc != 0)
		return 0;
	struct range all = { 0, disk_size_bytes(d) / SECTOR_BYTES };
	int added = pt.nparts > 0 ? add_table(s, &pt, d, stored, filesystems, e)
	                          : add_whole(s, d, all, stored, e);
	ptable_free(&pt);
	return added == 0 ? 1 : -1;
}

int
areas_of_disk(struct areas *s, struct disk *d, struct range within,
    unsigned sector_bytes, const struct rangeset *stored, struct err *e)
{
	if (within.len != 0)
		return add_whole(s, d, within, stored, e) == 0 ? 1 : -1;
	return read_table(s, d, sector_bytes, stored, NULL, e);
}

int
areas_of_image(struct areas *s, const struct chunk *c, const void *bytes, bool whole,
    uint64_t disk_bytes, struct err *e)
{
	static const struct disk_ops ops = { .pread = first_mib_pread };
	const struct ext_image *i = c->ext.has_image ? &c->ext.image : NULL;
	struct first_mib *b;
	struct disk *d;
	struct err none;

	if (i != NULL && i->source_bytes != 0)
		disk_bytes = i->source_bytes;
	if (first_mib_of(&b, c, bytes, e) != 0)
		return -1;
	/* It is opened as a file, so that a table in sectors of 4096 is looked for, too. */
	int rc = disk_open_ops(&d, "the image's partition table", DISK_FILE, disk_bytes,
	    &ops, b, e);
	if (rc == 0) {
		struct range all = { 0, disk_bytes / SECTOR_BYTES };
		rc = whole ? read_table(s, d,
				 i != NULL && i->kind == EXT_KIND_DISK ? i->sector_bytes
								       : 0,
				 NULL, i != NULL ? i->filesystems : NULL, e)
		           : areas_of_disk(s, d, all, 0, NULL, e);
		disk_close(d, &none);
	}
	first_mib_free(b);
	return rc;
}

void
areas_grow_last(struct areas *s, uint64_t end)
{
	struct area *last = NULL;

	for (size_t i = 0; i < s->n; i++)
		if (s->a[i].number != 0 &&
		    (last == NULL ||
			range_end(s->a[i].sectors) > range_end(last->sectors)))
			last = &s->a[i];
	if (last != NULL && range_end(last->sectors) < end)
		last->more = end - range_end(last->sectors);
}

void
areas_note(struct areas *s, struct range stored)
{
	for (size_t i = 0; i < s->n; i++)
		s->a[i].some |= touches(s, i, stored);
}

/* Add the sectors of an area that neither the table has nor a partition of which
 * something is stored. */
static int
add_own(const struct areas *s, const struct area *a, struct rangeset *out, struct err *e)
{
	struct rangeset own, others;

	rangeset_init(&own);
	rangeset_init(&others);
	int rc = rangeset_add(&own, a->sectors, e);
	for (size_t i = 0; rc == 0 && i < s->n; i++)
		if (s->a[i].number != 0 && s->a[i].some)
			rc = rangeset_add(&others, s->a[i].sectors, e);
	rangeset_seal(&own);
	rangeset_seal(&others);
	if (rc == 0)
		rc = rangeset_minus(&own, &others, e);
	if (rc == 0)
		rc = rangeset_minus(&own, &s->table, e);
	for (size_t i = 0; rc == 0 && i < rangeset_count(&own); i++)
		rc = rangeset_add(out, rangeset_get(&own, i), e);
	rangeset_free(&own);
	rangeset_free(&others);
	return rc;
}

int
areas_left_out(
    const struct areas *s, bool unsure, struct rangeset *out, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < s->n; i++) {
		const struct area *a = &s->a[i];
		if (a->some && !(unsure && a->unsure))
			continue;
		rc = a->shares ? add_own(s, a, out, e)
		               : rangeset_add(out,
				     (struct range){
					 a->sectors.off, a->sectors.len + a->more },
				     e);
	}
	return rc;
}
