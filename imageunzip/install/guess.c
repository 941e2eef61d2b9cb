/* guess.c: finds out how far an image reaches that does not say it. install_reach.c calls
 * this in the thread that feeds chunks. */
#include "imageunzip/install/guess.h"

#include <stdlib.h>

#include "common/image/read/imgtable.h"
#include "common/image/read/reaches.h"
#include "common/resize/super.h"
#include "common/target/few_sectors.h"

enum { HEAD_SECTORS = SUPER_BYTES / SECTOR_BYTES };

struct guess {
	struct imgtable *table;
	bool bare, superblocks;
	struct reach known;
	bool looked[REACH_PARTS_MAX]; /* for the superblock of a known part */
};

int
guess_new(struct guess **out, bool bare, bool superblocks, struct err *e)
{
	struct guess *g = calloc(1, sizeof *g);

	if (g == NULL || imgtable_new(&g->table, e) != 0) {
		free(g);
		return err_nomem(e, "a list of partitions");
	}
	g->bare = bare;
	g->superblocks = superblocks;
	*out = g;
	return 0;
}

void
guess_free(struct guess *g)
{
	if (g == NULL)
		return;
	imgtable_free(g->table);
	free(g);
}

bool
guess_filesystem(const struct chunk *c, const void *bytes, struct range sectors,
    struct reach_part *p)
{
	/* Sectors that are not stored are zeros. */
	uint8_t *head = calloc(1, SUPER_BYTES);
	const struct range wanted = { sectors.off, HEAD_SECTORS };
	struct err why;
	bool found = head != NULL &&
	             few_sectors(c, bytes, wanted, head, NULL, &why) == 0 &&
	             reaches_recognise(head, SUPER_BYTES, sectors.len, p);

	free(head);
	return found;
}

static bool
begins_in(const struct chunk *c, const struct reach_part *p)
{
	return p->sectors.off >= c->h.firstsect && p->sectors.off < c->h.lastsect;
}

/* Take partitions over that were not known before. */
static void
note_partitions(struct guess *g, struct reach *found)
{
	const struct ptable *t = imgtable_table(g->table);

	for (unsigned i = 0; t != NULL && i < t->nparts; i++) {
		const struct partition *p = &t->parts[i];
		struct reach_part r = { .number = p->number, .sectors = p->sectors };
		if (reach_find(&g->known, p->number) != NULL)
			continue;
		/* Every image stores the beginning of what it did not leave out. */
		if (!imgtable_left_out(g->table, p->number))
			r.flags |= REACH_STORED;
		reach_add(&g->known, &r);
		reach_add(found, &r);
	}
}

static void
note_superblocks(struct guess *g, const struct chunk *c, const void *bytes,
    struct reach *found)
{
	for (size_t i = 0; i < g->known.n; i++) {
		struct reach_part *p = &g->known.parts[i];
		if (g->looked[i] || !begins_in(c, p))
			continue;
		g->looked[i] = true;
		if (guess_filesystem(c, bytes, p->sectors, p))
			reach_add(found, p);
	}
}

/* A source without partitions is one filesystem. */
static void
note_bare(struct guess *g, const struct chunk *c, const void *bytes, struct reach *found)
{
	struct reach_part all = { .sectors = { 0, UINT64_MAX / SECTOR_BYTES },
		.flags = REACH_STORED };

	g->bare = g->looked[0] = true;
	if (!guess_filesystem(c, bytes, all.sectors, &all))
		return;
	all.sectors.len = all.fs_sectors;
	reach_add(found, &all);
}

int
guess_learn(struct guess *g, uint32_t number, const struct chunk *c, const void *bytes,
    struct reach *found, struct err *e)
{
	found->n = 0;
	if (!g->bare && imgtable_learn(g->table, number, c, bytes, e) != 0)
		return -1;
	if (!g->bare)
		note_partitions(g, found);
	if (number == 0 && g->known.n == 0 && !g->looked[0])
		note_bare(g, c, bytes, found);
	if (g->superblocks)
		note_superblocks(g, c, bytes, found);
	return 0;
}

bool
guess_lacks(struct guess *g, uint64_t *sector)
{
	if (g->bare)
		return false;
	if (imgtable_needs(g->table, sector))
		return true;
	for (size_t i = 0; g->superblocks && i < g->known.n; i++)
		if (!g->looked[i] && (g->known.parts[i].flags & REACH_STORED) != 0) {
			*sector = g->known.parts[i].sectors.off;
			return true;
		}
	return false;
}

bool
guess_left_out(const struct guess *g, unsigned number)
{
	return imgtable_left_out(g->table, number);
}

int
guess_cannot(struct guess *g, uint64_t sector, struct err *e)
{
	for (size_t i = 0; i < g->known.n; i++)
		g->looked[i] |= g->known.parts[i].sectors.off == sector;
	return imgtable_cannot(g->table, sector, e);
}
