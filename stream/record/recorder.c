/* recorder.c: records the first reads of a streaming disk.  stream/disk calls
 * recorder_read() and recorder_written() for its clients, in any thread; a thread of
 * the recorder's own writes the file.
 *
 * Which sectors were seen already is kept in a bitmap for each 16 MiB of the disk that
 * is used.  The number of those is limited, so that the memory is. */
#include "stream/record/recorder.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/timed.h"
#include "common/image/format/order.h"

enum {
	AREA_SECTORS = 32768, /* 16 MiB */
	AREA_BYTES = AREA_SECTORS / 8,
	AREAS_MAX = 4096, /* of 64 GiB; 16 MB of memory */
	WRITE_SECONDS = 5,
};

struct recorder {
	const char *path;
	void (*tell)(void *arg, const char *sentence);
	void *arg;
	uint64_t began_us;
	pthread_t thread;
	pthread_mutex_t lock; /* guards the rest */
	pthread_cond_t news;
	bool ending;
	bool failed;       /* the last attempt to write the file */
	bool full;         /* nothing more is recorded */
	uint16_t *area_of; /* for each area of the disk, the number of its bitmap, from
	                      1 on; 0: none */
	uint8_t *bitmaps;
	size_t areas; /* bitmaps that are used */
	struct order order;
	size_t written; /* runs that are in the file */
};

/* Looking and marking.  Called with the lock. */

/* The bitmap of an area; NULL: there is none, and no room for one. */
static uint8_t *
bitmap_of(struct recorder *r, uint64_t area)
{
	if (r->area_of[area] == 0) {
		if (r->areas == AREAS_MAX)
			return NULL;
		r->area_of[area] = (uint16_t)++r->areas;
	}
	return r->bitmaps + (size_t)(r->area_of[area] - 1) * AREA_BYTES;
}

/* Mark the first sectors of s, s.len > 0, that have the same answer.  *seen: were they
 * seen before? Returns how many; 0: there is no room. */
static uint64_t
mark_run(struct recorder *r, struct range s, bool *seen)
{
	uint8_t *bits = bitmap_of(r, s.off / AREA_SECTORS);
	unsigned first = (unsigned)(s.off % AREA_SECTORS), i = first;

	if (bits == NULL)
		return 0;
	*seen = bits[i / 8] >> i % 8 & 1;
	for (; i < AREA_SECTORS && i - first < s.len; i++) {
		if ((bits[i / 8] >> i % 8 & 1) != *seen)
			break;
		bits[i / 8] |= (uint8_t)(1 << i % 8);
	}
	return i - first;
}

/* Append sectors that were read for the first time, to the last run if they follow it.
 */
static void
append(struct recorder *r, struct range s)
{
	struct order *o = &r->order;
	uint64_t after_ms = (clock_us() - r->began_us) / 1000;
	struct order_run *last = o->n > r->written ? &o->runs[o->n - 1] : NULL;
	struct err e;

	if (last != NULL && last->first_sector + last->sectors == s.off &&
	    s.len <= ORDER_SECTORS_MAX - o->sectors) {
		last->sectors += (uint32_t)s.len;
		o->sectors += s.len;
		return;
	}
	struct order_run run = { s.off, (uint32_t)s.len, (uint32_t)after_ms, 1 };
	r->full |= order_add(o, run, &e) != 1;
}

static void
note(struct recorder *r, struct range s, bool is_read)
{
	bool seen;

	pthread_mutex_lock(&r->lock);
	r->full |= clock_us() - r->began_us > RECORDER_SECONDS * UINT64_C(1000000);
	for (uint64_t n; s.len > 0 && !r->full;
	     s = (struct range){ s.off + n, s.len - n }) {
		n = mark_run(r, s, &seen);
		r->full |= n == 0;
		if (n > 0 && !seen && is_read)
			append(r, (struct range){ s.off, n });
	}
	pthread_mutex_unlock(&r->lock);
}

void
recorder_read(struct recorder *r, struct range sectors)
{
	note(r, sectors, true);
}

void
recorder_written(struct recorder *r, struct range sectors)
{
	note(r, sectors, false);
}

/* The file. */

/* Copy the order; its runs stay the recorder's.  Called with the lock, and the runs do
 * not move, since there is room for all of them; those that were counted do not change
 * any more. */
static struct order
take(struct recorder *r)
{
	r->written = r->order.n;
	return r->order;
}

/* Write the file, if there is something new; what could not be written stays new.  Of failures in a
 * row the first one is told, and the last one at the end.  Called with the lock, which is released
 * meanwhile. */
static void
write_file(struct recorder *r)
{
	const size_t before = r->written;
	struct err e;

	if (r->written == r->order.n && (r->written > 0 || !r->ending))
		return;
	const bool again = r->failed && !r->ending;
	struct order copy = take(r);
	pthread_mutex_unlock(&r->lock);
	int rc = order_write(&copy, r->path, &e);
	if (rc != 0 && !again)
		r->tell(r->arg, e.text);
	pthread_mutex_lock(&r->lock);
	r->failed = rc != 0;
	if (rc != 0)
		r->written = before;
}

static void *
write_now_and_then(void *arg)
{
	struct recorder *r = arg;

	pthread_mutex_lock(&r->lock);
	while (!r->ending) {
		uint64_t until_us = clock_us() + WRITE_SECONDS * UINT64_C(1000000);
		while (!r->ending && timed_wait(&r->news, &r->lock, until_us))
			;
		if (!r->ending)
			write_file(r);
	}
	/* The end may come before this thread has begun, or while it writes. */
	write_file(r);
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

/* Beginning and end. */

static void
recorder_free(struct recorder *r)
{
	free(r->area_of);
	free(r->bitmaps);
	order_free(&r->order);
	pthread_cond_destroy(&r->news);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

static struct recorder *
recorder_new(uint64_t disk_sectors)
{
	struct recorder *r = calloc(1, sizeof *r);

	if (r == NULL)
		return NULL;
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->news, NULL);
	order_init(&r->order, disk_sectors, 1);
	r->order.runs = calloc(ORDER_RUNS_MAX, sizeof *r->order.runs);
	r->order.cap = ORDER_RUNS_MAX;
	r->area_of = calloc(disk_sectors / AREA_SECTORS + 1, sizeof *r->area_of);
	r->bitmaps = calloc(AREAS_MAX, AREA_BYTES);
	if (r->order.runs != NULL && r->area_of != NULL && r->bitmaps != NULL)
		return r;
	recorder_free(r);
	return NULL;
}

int
recorder_start(struct recorder **out, const char *path, uint64_t disk_sectors,
    void (*tell)(void *arg, const char *sentence), void *arg, struct err *e)
{
	struct recorder *r = recorder_new(disk_sectors);

	if (r == NULL)
		return err_nomem(e, path);
	r->path = path;
	r->tell = tell;
	r->arg = arg;
	r->began_us = clock_us();
	if (thread_start(&r->thread, write_now_and_then, r) != 0) {
		recorder_free(r);
		return err_set(e, ERR_IO, "%s: no thread can be started", path);
	}
	*out = r;
	return 0;
}

void
recorder_end(struct recorder *r)
{
	if (r == NULL)
		return;
	pthread_mutex_lock(&r->lock);
	r->ending = true;
	pthread_cond_signal(&r->news);
	pthread_mutex_unlock(&r->lock);
	pthread_join(r->thread, NULL);
	recorder_free(r);
}
