/* places.c: finds a sector in the data of a chunk, and the fragment that has a given byte.
 * Whoever reads an image by sector calls this, in any thread. */
#include "common/image/read/places.h"

#include <stdlib.h>

#include "common/base/bisect.h"

uint64_t
places_sectors(const struct ndz_header *h, struct range r, uint64_t *at)
{
	uint64_t before = 0;
	unsigned i = 0;

	while (i < h->nregions - 1 && range_end(h->regions[i]) <= r.off)
		before += h->regions[i++].len;
	struct range region = h->regions[i];
	struct range now = range_clip(region, r.off, range_end(r));
	if (now.len == 0 || now.off != r.off)
		return 0;
	*at = (before + r.off - region.off) * SECTOR_BYTES;
	return now.len;
}

int
places_fragments(struct fragments **out, const struct chunk *c, struct err *e)
{
	struct fragments f = fragments_of(c);
	struct fragments *all = calloc(c->ext.nfragments + 1, sizeof *all);

	if (all == NULL)
		return err_nomem(e, "a fragment table");
	while (fragments_next(&f))
		all[f.number] = f;
	*out = all;
	return 0;
}

static bool
ends_at_most(const void *fragments, size_t i, uint64_t at)
{
	const struct fragments *all = fragments;

	return all[i].raw_at + all[i].raw_bytes <= at;
}

const struct fragments *
places_fragment(const struct fragments *all, size_t n, uint64_t at)
{
	size_t lo = bisect(n, all, at, ends_at_most);

	return lo < n && at >= all[lo].raw_at ? &all[lo] : NULL;
}
