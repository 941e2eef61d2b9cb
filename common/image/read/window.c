/* window.c: how long windows are, and how one becomes two; any thread calls this. */
#include "common/image/read/window.h"

#include <string.h>

uint64_t
window_bytes(const struct window *w)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < w->nregions; i++)
		n += w->regions[i].len;
	return n * SECTOR_BYTES;
}

/* Find the region that has the sector behind the first `*sectors`, which become those in front
 * of it in this region. */
static unsigned
find_region(const struct window *w, uint64_t *sectors)
{
	unsigned i = 0;

	for (; w->regions[i].len <= *sectors; i++)
		*sectors -= w->regions[i].len;
	return i;
}

uint64_t
window_split_at(const struct window *w, uint64_t sectors)
{
	uint64_t in = sectors;
	unsigned i = find_region(w, &in);
	uint64_t over = (w->regions[i].off + in) % WINDOW_GRAIN_SECTORS;

	return sectors - (over < in ? over : in);
}

void
window_split(struct window *w, uint64_t sectors, struct window *rest)
{
	unsigned i = find_region(w, &sectors);
	struct range *r = &w->regions[i];

	*rest = (struct window){ .nregions = w->nregions - i };
	memcpy(rest->regions, r, rest->nregions * sizeof *r);
	rest->regions[0] = range_clip(*r, r->off + sectors, range_end(*r));
	r->len = sectors;
	w->nregions = i + (sectors > 0);
}
