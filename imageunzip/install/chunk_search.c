/* chunk_search.c: searches for the chunks that hold a range of sectors. part_search.c has a
 * search for each partition that frisbee loads alone (--only), in the thread that learns
 * from the chunks. Headers that contradict one another end a search early, never late;
 * the end of the installation then finds that chunks are missing. */
#include "imageunzip/install/chunk_search.h"

void
chunk_search_begin(struct chunk_search *s, uint32_t nchunks, struct range want)
{
	*s = (struct chunk_search){ .want = want, .above = (uint64_t)nchunks + 1 };
}

static void
note_touching(struct chunk_search *s, uint64_t at, struct range sectors)
{
	if (s->low == 0 || at < s->low)
		s->low = at;
	if (at > s->high)
		s->high = at;
	if (sectors.off <= s->want.off && at == s->low)
		s->below = at - 1;
	if (range_end(sectors) >= range_end(s->want) && at == s->high)
		s->above = at + 1;
}

void
chunk_search_note(struct chunk_search *s, uint32_t chunk, struct range sectors)
{
	uint64_t at = (uint64_t)chunk + 1;
	bool before = range_end(sectors) <= s->want.off;
	bool behind = sectors.off >= range_end(s->want);

	/* A header that contradicts what is known already changes nothing. */
	if (at <= s->below || at >= s->above ||
	    (s->low != 0 && at >= s->low && at <= s->high))
		return;
	if (!before && !behind)
		note_touching(s, at, sectors);
	else if (s->low != 0 ? at < s->low : before)
		s->below = at;
	else
		s->above = at;
}

bool
chunk_search_next(struct chunk_search *s, uint32_t *chunk)
{
	if (s->low == 0)
		return false;
	if (s->from == 0)
		s->from = s->to = s->low;
	if (s->from > s->low)
		*chunk = (uint32_t)(--s->from - 1);
	else if (s->to <= s->high)
		*chunk = (uint32_t)(s->to++ - 1);
	else
		return false;
	return true;
}

/* Get the chunk in the middle between the two; returns how many chunks there are, 0 or 1. */
static unsigned
middle(uint64_t below, uint64_t above, uint32_t *chunk)
{
	if (above <= below + 1)
		return 0;
	*chunk = (uint32_t)(below + (above - below) / 2 - 1);
	return 1;
}

unsigned
chunk_search_probe(const struct chunk_search *s, uint32_t chunks[CHUNK_SEARCH_PROBES])
{
	if (s->low == 0)
		return middle(s->below, s->above, &chunks[0]);
	unsigned n = middle(s->below, s->low, &chunks[0]);
	return n + middle(s->high, s->above, &chunks[n]);
}

bool
chunk_search_is_empty(const struct chunk_search *s)
{
	return s->low == 0 && s->above <= s->below + 1;
}
