/* window.c: sums over windows; any thread calls this. */
#include "common/image/read/window.h"

uint64_t
window_bytes(const struct window *w)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < w->nregions; i++)
		n += w->regions[i].len;
	return n * SECTOR_BYTES;
}
