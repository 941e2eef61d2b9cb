/* table_flush.c: writes what was marked in a sector table since the last flush.  The engine of a
 * streaming disk calls table_flush(), in one thread at a time, while others mark.
 *
 * Marks are set when their data was written, and a flush copies them before it flushes the
 * disk: for this reason no mark reaches the medium before its data.  The summary is written when
 * the pieces are on the medium: a bit of the summary whose piece had never been written would look
 * like a piece with local data that is damaged. */
#include <assert.h>
#include <stdlib.h>

#include "stream/table/table_impl.h"

enum { BATCH_FRAMES = 64 };

struct flush {
	struct table *t;
	uint64_t *numbers; /* frames that were dirty when the flush began */
	size_t n;
	uint8_t *blocks; /* for the frames of one batch */
	uint64_t batch[BATCH_FRAMES]; /* their numbers */
	uint8_t local[BATCH_FRAMES];  /* which of their pieces have local data, a bit for each */
	size_t nbatch;
	uint8_t *summary; /* for a frame of the summary */
};

/* Collect the frames that this flush writes.  -1: no memory. */
static int
collect(struct flush *f, bool all)
{
	struct table *t = f->t;

	f->numbers = calloc(t->ndirty + 1, sizeof *f->numbers);
	if (f->numbers == NULL)
		return -1;
	uint32_t i = lru_oldest(&t->recent, true);
	for (; i != LRU_NONE; i = lru_newer(&t->recent, i))
		if (t->frames[i].dirty && (all || t->frames[i].dirty_local))
			f->numbers[f->n++] = t->frames[i].number;
	return 0;
}

static int
begin(struct flush *f, bool all, struct err *e)
{
	pthread_mutex_lock(&f->t->lock);
	int rc = collect(f, all);
	if (f->n > 0)
		f->t->header.sequence++;
	pthread_mutex_unlock(&f->t->lock);
	if (rc == 0 && f->n > 0) {
		f->blocks = frames_buffer(BATCH_FRAMES);
		f->summary = frames_buffer(1);
		rc = f->blocks != NULL && f->summary != NULL ? 0 : -1;
	}
	return rc == 0 ? 0 : err_nomem(e, "writing the sector table");
}

/* Encode frames from the i-th on.  Returns the first one that is left for the next batch. */
static size_t
take_batch(struct flush *f, size_t i)
{
	struct err ignored; /* frames that are dirty are in memory */

	pthread_mutex_lock(&f->t->lock);
	for (f->nbatch = 0; i < f->n && f->nbatch < BATCH_FRAMES; i++) {
		struct frame *frame = frame_get(f->t, f->numbers[i], &ignored);
		assert(frame != NULL);
		frame_encode(f->t, frame, f->blocks + f->nbatch * FRAME_BYTES);
		frame_taken(f->t, frame);
		f->local[f->nbatch] = frame->local;
		f->batch[f->nbatch++] = frame->number;
	}
	pthread_mutex_unlock(&f->t->lock);
	return i;
}

/* Encode a frame of the summary, if it has changed since it was written. */
static bool
take_summary(struct table *t, uint64_t i, uint8_t *block)
{
	pthread_mutex_lock(&t->lock);
	bool dirty = t->summary_dirty[i];
	if (dirty)
		summary_encode(t, i, block);
	t->summary_dirty[i] = false;
	pthread_mutex_unlock(&t->lock);
	return dirty;
}

int
summary_write(struct table *t, uint8_t *block, struct err *e)
{
	int n = 0;

	for (uint64_t i = 0; i < t->nsummary; i++) {
		uint64_t at = frame_place(t, SUMMARY_FRAME + i);
		if (!take_summary(t, i, block))
			continue;
		if (disk_write(t->on, block, FRAME_BYTES, at, e) != 0)
			return -1;
		n++;
	}
	return n;
}

static int
write_batch(struct flush *f, struct err *e)
{
	struct err ignored;

	for (size_t i = 0; i < f->nbatch; i++) {
		uint64_t at = frame_place(f->t, frame_of_sectors(f->t, f->batch[i]));
		if (disk_write(f->t->on, f->blocks + i * FRAME_BYTES, FRAME_BYTES, at, e) != 0)
			return -1;
	}
	pthread_mutex_lock(&f->t->lock);
	for (size_t i = 0; i < f->nbatch; i++) {
		frame_written(f->t, frame_get(f->t, f->batch[i], &ignored));
		summary_note(f->t, f->batch[i], f->local[i]);
	}
	pthread_mutex_unlock(&f->t->lock);
	return 0;
}

static int
write_all(struct flush *f, int (*sync)(void *, struct err *), void *arg, struct err *e)
{
	for (size_t i = 0; i < f->n;) {
		i = take_batch(f, i);
		if (sync(arg, e) != 0 || write_batch(f, e) != 0)
			return -1;
	}
	if (disk_sync(f->t->on, e) != 0)
		return -1;
	int written = summary_write(f->t, f->summary, e);
	return written > 0 ? disk_sync(f->t->on, e) : written;
}

int
table_flush(struct table *t, bool all, int (*sync)(void *, struct err *), void *arg,
    struct err *e)
{
	struct flush f = { .t = t };
	int rc;

	assert(!t->failed);
	if (t->on == NULL)
		return sync(arg, e);
	rc = begin(&f, all, e);
	if (rc == 0)
		rc = f.n > 0 ? write_all(&f, sync, arg, e) : sync(arg, e);
	t->failed = rc != 0;
	free(f.numbers);
	free(f.blocks);
	free(f.summary);
	return rc;
}
