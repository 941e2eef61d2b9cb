/* frame_counts.c: what is in memory of every frame of a sector table: a word that says
 * how many of its stored sectors are absent, which of its pieces have local data, and
 * whether it has marks that an ordinary flush would leave out.  table.c and frames.c call
 * the functions that change it, with the table's lock.  The engine of a streaming disk
 * (stream/disk) asks in any thread, without the lock: what is present stays present, so
 * that an answer that is "yes" stays right. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "stream/table/table_impl.h"

_Static_assert(FRAME_SECTORS <= UINT16_MAX, "the lower half counts a frame's sectors");
_Static_assert(FRAME_PIECES == 8, "there are eight bits for the pieces with local data");

enum { LOCAL_SHIFT = 16 };

#define ABSENT_MASK UINT32_C(0xffff)
/* There are marks that no flush has taken, and all of them are of fetched data: only a flush with
 * `all` set writes them. */
#define LEFT_OUT    (UINT32_C(1) << 24)

/* The sectors of a frame. */
static struct range
sectors_of(uint64_t number)
{
	return (struct range){ number * FRAME_SECTORS, FRAME_SECTORS };
}

void
frame_counts_begin(struct table *t, const struct rangeset *stored)
{
	for (uint64_t i = 0; i < t->nframes; i++)
		atomic_init(&t->counts[i], (uint32_t)rangeset_total_in(stored, sectors_of(i)));
}

/* How many bits of these eight bytes are set?  Most of a large table is all zeros or all ones. */
static unsigned
count_word(const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof word);
	return word == 0 ? 0 : word == UINT64_MAX ? 64 : (unsigned)__builtin_popcountll(word);
}

/* How many of the bits [from, to) are set? */
static uint64_t
count_bits(const uint8_t *bits, uint64_t from, uint64_t to)
{
	uint64_t n = 0;

	for (; from < to && from % 8 != 0; from++)
		n += bit_is_set(bits, from);
	for (; to - from >= 64; from += 64)
		n += count_word(bits + from / 8);
	for (; from < to; from++)
		n += bit_is_set(bits, from);
	return n;
}

uint64_t
frame_counts_read(struct table *t, const struct frame *f, const struct rangeset *stored)
{
	struct range all = sectors_of(f->number);
	uint64_t n = 0, absent = 0;

	for (size_t i = rangeset_find(stored, all.off); i < rangeset_count(stored); i++) {
		struct range s = range_clip(rangeset_get(stored, i), all.off, range_end(all));
		if (s.len == 0)
			break;
		uint64_t there = count_bits(f->bits, s.off - all.off, range_end(s) - all.off);
		n += there;
		absent += s.len - there;
	}
	atomic_init(&t->counts[f->number], (uint32_t)absent | (uint32_t)f->local << LOCAL_SHIFT);
	return n;
}

void
frame_counts_changed(struct table *t, const struct frame *f, uint64_t became_present)
{
	_Atomic uint32_t *g = &t->counts[f->number];
	uint32_t absent = atomic_load_explicit(g, memory_order_relaxed) & ABSENT_MASK;

	assert(became_present <= absent);
	absent -= (uint32_t)became_present;
	bool left_out = f->dirty && !f->dirty_local;
	atomic_store(
	    g, absent | (uint32_t)f->local << LOCAL_SHIFT | (left_out ? LEFT_OUT : 0));
}

uint64_t
table_whole_run(const struct table *t, struct range r)
{
	uint64_t first = r.off / FRAME_SECTORS, i = first;

	for (; i < t->nframes && i * FRAME_SECTORS < range_end(r); i++)
		if ((atomic_load(&t->counts[i]) & ABSENT_MASK) != 0)
			return i == first ? 0 : i * FRAME_SECTORS - r.off;
	return r.len;
}

/* The bits of the pieces of a frame that have sectors of r. */
static uint32_t
pieces_of(uint64_t number, struct range r)
{
	struct range all = sectors_of(number);
	struct range s = range_clip(r, all.off, range_end(all));
	uint64_t first = (s.off - all.off) / PIECE_BITS;
	uint64_t last = (range_end(s) - 1 - all.off) / PIECE_BITS;

	return ((UINT32_C(2) << last) - (UINT32_C(1) << first)) << LOCAL_SHIFT;
}

/* Every stored sector of the frame is present, the pieces are known to have local data, and all of
 * this was taken by a flush or will be taken by the next one: another mark would change nothing.  A
 * flush that takes the marks right now copies all of them, so the answer is right meanwhile, too. */
static bool
is_settled(const struct table *t, uint64_t number, struct range r)
{
	uint32_t g = atomic_load(&t->counts[number]), pieces = pieces_of(number, r);

	return (g & ABSENT_MASK) == 0 && (g & pieces) == pieces &&
	       ((g & LEFT_OUT) == 0 || t->on == NULL);
}

bool
table_is_settled(const struct table *t, struct range r)
{
	uint64_t i = r.off / FRAME_SECTORS;

	for (; i < t->nframes && i * FRAME_SECTORS < range_end(r); i++)
		if (!is_settled(t, i, r))
			return false;
	return true;
}
