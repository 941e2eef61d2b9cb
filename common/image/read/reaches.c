/* reaches.c: finds out how far partitions and filesystems reach, from their superblocks.
 * imagezip calls this for the record of an image, in its first thread, and installers for
 * images without such a record, before anything is written. */
#include "common/image/read/reaches.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/disk/bsdlabel.h"
#include "common/disk/ptable.h"
#include "common/resize/super.h"

bool
reaches_recognise(const void *head, size_t n, uint64_t part_sectors, struct reach_part *p)
{
	struct super s;
	const char *name = super_find(head, n, &s);

	if (name == NULL)
		return false;
	uint64_t sectors = s.bytes / SECTOR_BYTES + (s.bytes % SECTOR_BYTES != 0);
	snprintf(p->fs, sizeof p->fs, "%s", name);
	p->fs_sectors = sectors < part_sectors ? sectors : part_sectors;
	p->sector_bytes = s.sector_bytes;
	return true;
}

bool
reaches_look(struct disk *d, struct range at, struct reach_part *p)
{
	uint64_t part_bytes = at.len * SECTOR_BYTES;
	size_t cap = part_bytes < SUPER_BYTES ? (size_t)part_bytes : SUPER_BYTES;
	uint8_t *head = malloc(SUPER_BYTES);
	struct err why;

	if (head == NULL)
		return false;
	ssize_t n = disk_read_upto(d, head, cap, at.off * SECTOR_BYTES, &why);
	bool found = n > 0 && reaches_recognise(head, (size_t)n, at.len, p);
	free(head);
	return found;
}


void
reaches_look_inside(
    struct reach *x, struct disk *d, struct range at, const struct reach_part *slice)
{
	struct bsdlabel l;
	struct err why;

	if (bsdlabel_read(&l, d, at, &why) != 0)
		return;
	for (unsigned i = 0; i < l.nparts; i++) {
		struct range r = l.parts[i].sectors;
		struct reach_part p = { .number = slice->number,
			.sectors = { slice->sectors.off + r.off, r.len },
			.flags = slice->flags };
		r.off += at.off;
		if (reaches_look(d, r, &p))
			reach_add(x, &p);
	}
}

static void
add(struct reach *x, struct disk *d, unsigned number, struct range at,
    const struct rangeset *stored)
{
	struct reach_part p = { .number = number, .sectors = at };

	if (rangeset_touches(stored, at))
		p.flags |= REACH_STORED;
	reaches_look(d, at, &p);
	reach_add(x, &p);
	reaches_look_inside(x, d, at, &p);
}

void
reaches_of_disk(struct reach *x, struct disk *d, const struct rangeset *stored)
{
	struct range all = { 0, disk_size_bytes(d) / SECTOR_BYTES };
	struct ptable t = { .nparts = 0 };
	struct err why;

	x->n = 0;
	if (ptable_read(&t, d, &why) != 0)
		return;
	for (unsigned i = 0; i < t.nparts; i++)
		add(x, d, t.parts[i].number, t.parts[i].sectors, stored);
	struct reach_part alone = { .sectors = all, .flags = REACH_STORED };
	if (t.nparts == 0 && reaches_look(d, all, &alone)) {
		alone.sectors.len = alone.fs_sectors;
		reach_add(x, &alone);
	}
	ptable_free(&t);
}
