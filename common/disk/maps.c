/* maps.c: the list of maps of an installation, or of a streaming disk (maps.h).  The thread that
 * feeds, or opens the disk, makes it, and others read it; nothing of it changes once they do. */
#include "common/disk/maps.h"

#include <inttypes.h>
#include <string.h>

struct maps
maps_one(struct range from)
{
	return (struct maps){ .n = from.len != 0, .map = { { from, 0 } } };
}

static bool
fits_number(struct range r)
{
	return r.len <= UINT64_MAX - r.off;
}

static bool
overlap(struct range a, struct range b)
{
	return range_clip(a, b.off, range_end(b)).len != 0;
}

static struct range
place(const struct map *m)
{
	return (struct range){ m->to, m->from.len };
}

int
maps_add(struct maps *s, struct range from, uint64_t to, struct err *e)
{
	const struct map add = { from, to };
	unsigned at = 0;

	if (from.len == 0)
		return 0;
	if (s->n == MAPS_MAX || !fits_number(from) || !fits_number(place(&add)))
		return err_set(e, ERR_FORMAT,
		    "%" PRIu64 " sectors from sector %" PRIu64
		    " on cannot be installed at sector %" PRIu64,
		    from.len, from.off, to);
	for (unsigned i = 0; i < s->n; i++) {
		const struct map *m = &s->map[i];
		if (overlap(m->from, from) || overlap(place(m), place(&add)))
			return err_set(e, ERR_REFUSED,
			    "what begins at sector %" PRIu64
			    " of the image and what begins at sector %" PRIu64
			    " of it share sectors",
			    m->from.off, from.off);
		at += m->from.off < from.off;
	}
	memmove(&s->map[at + 1], &s->map[at], (s->n - at) * sizeof s->map[0]);
	s->map[at] = add;
	s->n++;
	return 0;
}

uint64_t
maps_run(const struct maps *s, struct range r, uint64_t *to)
{
	unsigned i = 0;

	*to = MAPS_NOWHERE;
	while (i < s->n && range_end(s->map[i].from) <= r.off)
		i++;
	if (i == s->n)
		return r.len;
	const struct map *m = &s->map[i];
	uint64_t until = m->from.off;
	if (m->from.off <= r.off) {
		*to = m->to + (r.off - m->from.off);
		until = range_end(m->from);
	}
	return r.len < until - r.off ? r.len : until - r.off;
}

bool
maps_whole(const struct maps *s, struct range r, uint64_t *to)
{
	return maps_run(s, r, to) == r.len && *to != MAPS_NOWHERE;
}

uint64_t
maps_back(const struct maps *s, struct range r, uint64_t *from)
{
	uint64_t n = r.len;

	*from = MAPS_NOWHERE;
	for (unsigned i = 0; i < s->n; i++) {
		struct range at = range_clip(place(&s->map[i]), r.off, r.off + n);
		if (at.len == 0)
			continue;
		bool first = at.off == r.off;
		n = first ? at.len : at.off - r.off;
		if (first)
			*from = s->map[i].from.off + (r.off - s->map[i].to);
		if (first)
			break;
	}
	return n;
}
