/* walk.c: a set of sectors is walked through in pieces that end at window borders.
 * layers.c, sigimage.c, the capture and imagedelta call this; a walk belongs to one
 * thread. */
#include "common/image/read/walk.h"

unsigned
walk_next(struct walk *w, struct range ranges[WINDOW_REGIONS_MAX])
{
	uint64_t window = UINT64_MAX;
	unsigned n = 0;

	while (w->at < rangeset_count(w->set)) {
		struct range r = rangeset_get(w->set, w->at);
		uint64_t at = r.off + w->used;
		if (window == UINT64_MAX)
			window = at / WINDOW_SECTORS;
		if (at / WINDOW_SECTORS != window)
			break;
		ranges[n] = range_clip(r, at, (window + 1) * WINDOW_SECTORS);
		w->used += ranges[n++].len;
		if (w->used == r.len) {
			w->at++;
			w->used = 0;
		}
	}
	return n;
}
