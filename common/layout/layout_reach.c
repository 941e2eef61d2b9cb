/* layout_reach.c: notes how far the partitions and filesystems of a source reach, for the
 * record in the image. layout.c calls this in imagezip's first thread, when it is known
 * what is stored. */
#include <stdio.h>
#include <string.h>

#include "common/image/read/reaches.h"
#include "common/layout/layout_impl.h"

/* The module knows which filesystem it is, and the superblock how long it is: an end that
 * a module reports can have room for what lies behind it. */
static void
note_fs(struct disk *d, const struct layout_part *p, struct reach_part *r)
{
	struct reach_part found = { .number = 0 };

	if (p->fs_sectors != 0)
		snprintf(r->fs, sizeof r->fs, "%s", p->fs);
	r->fs_sectors = p->fs_sectors;
	if (!reaches_look(d, p->sectors, &found) || strcmp(found.fs, p->fs) != 0)
		return;
	found.number = r->number;
	found.sectors = r->sectors;
	found.flags = r->flags;
	*r = found;
}

static void
note_part(struct layout *l, struct disk *d, const struct layout_part *p)
{
	struct reach_part r = { .number = p->number,
		.sectors = { p->sectors.off - l->base, p->sectors.len } };

	if (rangeset_touches(&l->store, r.sectors))
		r.flags |= REACH_STORED;
	note_fs(d, p, &r);
	reach_add(&l->reach, &r);
	if (strcmp(p->fs, "bsdlabel") == 0)
		reaches_look_inside(&l->reach, d, p->sectors, &r);
}

void
layout_note_reach(struct layout *l, struct disk *d, const struct capture_what *o)
{
	bool listed = l->kind == EXT_KIND_PARTITION ||
	              (l->kind == EXT_KIND_DISK && l->parts[0].number != 0);

	/* Who wants the first sectors alone (-c) knows that a filesystem is cut. */
	if (!listed || o->count != 0)
		return;
	for (unsigned i = 0; i < l->nparts; i++)
		note_part(l, d, &l->parts[i]);
}
