/* frames.c: the frames of a sector table that are in memory.  The other files of this folder
 * call these functions with the table's lock, in any thread.
 *
 * A frame is read from the disk without the lock, so that nobody who needs another frame waits for
 * that.  While it is not in memory, no flush writes it; but between the beginning and the end of
 * the read it may have been in memory, been written, and been forgotten again.  The number of
 * frames that flushes have written tells, and the frame is read again then. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "stream/table/table_impl.h"

void *
frames_buffer(size_t n)
{
	return aligned_alloc(FRAME_BYTES, n * FRAME_BYTES);
}

static int
damaged(const struct table *t, uint64_t piece, struct err *e)
{
	return err_set(e, ERR_FORMAT,
	    "%s: the sector table is damaged: piece %" PRIu64
	    ", of sectors %" PRIu64 " and following, cannot be read, and data that was written "
	    "locally may be among them",
	    disk_name(t->on), piece, piece * PIECE_BITS);
}

int
frame_decode(
    struct table *t, struct frame *f, uint64_t number, const uint8_t *block, struct err *e)
{
	struct piece p;

	f->number = number;
	for (unsigned i = 0; i < FRAME_PIECES; i++) {
		uint64_t index = number * FRAME_PIECES + i;
		bool whole = piece_get(&p, t->header.id, block + i * PIECE_BYTES, PIECE_BYTES);
		if (!whole || p.kind != PIECE_OF_SECTORS || p.index != index) {
			if (bit_is_set(t->summary, index))
				return damaged(t, index, e);
			continue;
		}
		memcpy(f->bits + i * PIECE_BITS_BYTES, p.bits, PIECE_BITS_BYTES);
		f->local |= (uint8_t)(p.local << i);
		if (p.sequence > t->header.sequence)
			t->header.sequence = p.sequence;
	}
	return 0;
}

void
frame_encode(const struct table *t, const struct frame *f, uint8_t *block)
{
	for (unsigned i = 0; i < FRAME_PIECES; i++) {
		struct piece p = { .kind = PIECE_OF_SECTORS,
			.local = f->local >> i & 1,
			.sequence = t->header.sequence,
			.index = f->number * FRAME_PIECES + i };
		memcpy(p.bits, f->bits + i * PIECE_BITS_BYTES, PIECE_BITS_BYTES);
		piece_put(&p, t->header.id, block + i * PIECE_BYTES);
	}
}

void
summary_encode(const struct table *t, uint64_t number, uint8_t *block)
{
	const uint8_t *bits = t->summary + number * FRAME_BITS_BYTES;

	for (unsigned i = 0; i < FRAME_PIECES; i++) {
		struct piece p = { .kind = PIECE_OF_PIECES,
			.sequence = t->header.sequence,
			.index = number * FRAME_PIECES + i };
		memcpy(p.bits, bits + i * PIECE_BITS_BYTES, PIECE_BITS_BYTES);
		piece_put(&p, t->header.id, block + i * PIECE_BYTES);
	}
}

void
summary_decode(struct table *t, uint64_t number, const uint8_t *block)
{
	uint8_t *bits = t->summary + number * FRAME_BITS_BYTES;
	struct piece p;

	for (unsigned i = 0; i < FRAME_PIECES; i++) {
		bool whole = piece_get(&p, t->header.id, block + i * PIECE_BYTES, PIECE_BYTES);
		whole = whole && p.kind == PIECE_OF_PIECES &&
		        p.index == number * FRAME_PIECES + i;
		if (whole)
			memcpy(bits + i * PIECE_BITS_BYTES, p.bits, PIECE_BITS_BYTES);
		else
			memset(bits + i * PIECE_BITS_BYTES, 0xff, PIECE_BITS_BYTES);
		if (whole && p.sequence > t->header.sequence)
			t->header.sequence = p.sequence;
	}
}

void
summary_note(struct table *t, uint64_t number, uint8_t local)
{
	for (unsigned i = 0; i < FRAME_PIECES; i++) {
		uint64_t index = number * FRAME_PIECES + i;
		if (!(local >> i & 1) || bit_is_set(t->summary, index))
			continue;
		bit_set(t->summary, index);
		t->summary_dirty[index / FRAME_SECTORS] = true;
	}
}

/* Put an empty frame into memory; if memory is full, in the place of the frame that was not used
 * for longest. */
static struct frame *
add(struct table *t, uint64_t number, struct err *e)
{
	bool old;

	if (t->ndirty == t->max) {
		err_nomem(e, "marks in the sector table");
		return NULL;
	}
	struct frame *f = &t->frames[lru_add(&t->recent, number, &old)];
	if (old)
		frame_runs_keep(t, f);
	*f = (struct frame){ .number = number };
	return f;
}

static bool
is_protected(const struct frame *f)
{
	return f->dirty || f->writing;
}

struct frame *
frame_find(struct table *t, uint64_t number)
{
	uint32_t i = lru_first(&t->recent, number);

	while (i != LRU_NONE && t->frames[i].number != number)
		i = lru_next(&t->recent, i);
	if (i == LRU_NONE)
		return NULL;
	lru_touch(&t->recent, i, is_protected(&t->frames[i]));
	return &t->frames[i];
}

/* Read a frame from the disk.  The lock is released meanwhile. */
static int
read_unlocked(struct table *t, uint64_t number, uint8_t *block, struct err *e)
{
	uint64_t at = frame_place(t, frame_of_sectors(t, number));

	pthread_mutex_unlock(&t->lock);
	int rc = disk_read(t->on, block, FRAME_BYTES, at, e);
	pthread_mutex_lock(&t->lock);
	return rc;
}

static uint32_t
entry_of(const struct table *t, const struct frame *f)
{
	return (uint32_t)(f - t->frames);
}

/* Put the frame of which the disk has this block into memory. */
static struct frame *
add_block(struct table *t, uint64_t number, const uint8_t *block, struct err *e)
{
	struct frame *f = add(t, number, e);

	if (f == NULL || frame_decode(t, f, number, block, e) == 0)
		return f;
	lru_remove(&t->recent, entry_of(t, f));
	return NULL;
}

static struct frame *
load(struct table *t, uint64_t number, struct err *e)
{
	uint8_t *block = frames_buffer(1);
	struct frame *f = NULL;
	uint64_t written;
	int rc;

	if (block == NULL) {
		err_nomem(e, "a part of the sector table");
		return NULL;
	}
	do {
		written = t->written;
		rc = read_unlocked(t, number, block, e);
	} while (rc == 0 && (f = frame_find(t, number)) == NULL && t->written != written);
	if (rc == 0 && f == NULL)
		f = add_block(t, number, block, e);
	free(block);
	return f;
}

/* Put the frame that has these runs into memory.  A copy is drawn, since what is forgotten for it
 * may have its runs in the same place. */
static struct frame *
add_from_runs(struct table *t, const struct frame_runs *kept, struct err *e)
{
	struct frame_runs o = *kept;
	struct frame *f = add(t, o.name - 1, e);

	if (f != NULL)
		frame_runs_draw(&o, f);
	return f;
}

struct frame *
frame_get(struct table *t, uint64_t number, struct err *e)
{
	struct frame *f = frame_find(t, number);

	if (f != NULL)
		return f;
	if (t->on == NULL)
		return add(t, number, e);
	const struct frame_runs *o = frame_runs_find(t, number);
	return o != NULL ? add_from_runs(t, o, e) : load(t, number, e);
}

void
frame_dirty(struct table *t, struct frame *f, bool local)
{
	if (!is_protected(f)) {
		t->ndirty++;
		lru_touch(&t->recent, entry_of(t, f), true);
	}
	atomic_signal_fence(memory_order_seq_cst); /* its bits are set before */
	f->dirty = true;
	f->dirty_local |= local;
}

void
frame_taken(struct table *t, struct frame *f)
{
	f->writing = true;
	atomic_signal_fence(memory_order_seq_cst); /* killed in between, it has both */
	f->dirty = f->dirty_local = false;
	frame_counts_changed(t, f, 0);
}

/* The entry is protected no more when it is removed and added again: the table of recent frames
 * uses the entry that was removed last. */
void
frame_written(struct table *t, struct frame *f)
{
	bool old;

	t->written++;
	f->writing = false;
	if (f->dirty)
		return;
	t->ndirty--;
	lru_remove(&t->recent, entry_of(t, f));
	uint32_t i = lru_add(&t->recent, f->number, &old);
	assert(i == entry_of(t, f) && !old);
}
