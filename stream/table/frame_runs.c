/* frame_runs.c: frames of a sector table that were forgotten, as the places where their
 * bits change. frames.c and table.c call this, in any thread, with the table's lock.
 *
 * Most frames are empty, full, or have a few runs, and 16 bytes are enough for those instead of
 * 4 KiB.  A disk that has more frames than fit into memory would otherwise read a frame for each of
 * its own reads, if these are far apart.  The runs of a frame that is in memory may be out of
 * date: whoever looks for a frame looks among the frames first. */
#include <stdlib.h>
#include <string.h>

#include "stream/table/table_impl.h"

_Static_assert(FRAME_SECTORS <= UINT16_MAX, "a bound is a bit of a frame");
_Static_assert(sizeof(struct frame_runs) == 16, "they are small");

/* Find the runs of a frame.  false: there are too many. */
static bool
find_bounds(const struct frame *f, struct frame_runs *o)
{
	uint64_t at = table_same_bits(f->bits, 0, FRAME_SECTORS);

	for (; at < FRAME_SECTORS; at += table_same_bits(f->bits, at, FRAME_SECTORS - at)) {
		if (o->n == FRAME_RUNS_BOUNDS)
			return false;
		o->bounds[o->n++] = (uint16_t)at;
	}
	return true;
}

/* Where the runs of this frame would be; NULL: nowhere. */
static struct frame_runs *
place(const struct table *t, uint64_t number)
{
	return t->nruns > 0 && number < UINT32_MAX ? &t->runs[number % t->nruns] : NULL;
}

void
frame_runs_empty_all(struct table *t)
{
	for (uint64_t i = 0; i < t->nruns && i < UINT32_MAX; i++)
		t->runs[i] = (struct frame_runs){ .name = (uint32_t)i + 1 };
}

void
frame_runs_keep(struct table *t, const struct frame *f)
{
	struct frame_runs o = { .name = (uint32_t)f->number + 1,
		.local = f->local,
		.first = bit_is_set(f->bits, 0) };
	struct frame_runs *kept = place(t, f->number);

	if (kept == NULL)
		return;
	if (find_bounds(f, &o))
		*kept = o;
	else if (kept->name == o.name)
		kept->name = 0;
}

const struct frame_runs *
frame_runs_find(const struct table *t, uint64_t number)
{
	const struct frame_runs *o = place(t, number);

	return o != NULL && o->name == number + 1 ? o : NULL;
}

bool
frame_runs_bit(const struct frame_runs *o, uint64_t in, uint64_t most, uint64_t *n)
{
	unsigned i = 0;

	while (i < o->n && o->bounds[i] <= in)
		i++;
	uint64_t end = i < o->n ? o->bounds[i] : FRAME_SECTORS;
	*n = end - in < most ? end - in : most;
	return (o->first ^ i) & 1;
}

void
frame_runs_draw(const struct frame_runs *o, struct frame *f)
{
	uint64_t n;

	f->local = o->local;
	memset(f->bits, 0, sizeof f->bits);
	for (uint64_t at = 0; at < FRAME_SECTORS; at += n)
		if (frame_runs_bit(o, at, FRAME_SECTORS - at, &n))
			for (uint64_t i = at; i < at + n; i++)
				bit_set(f->bits, i);
}
