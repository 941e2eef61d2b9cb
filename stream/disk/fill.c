/* fill.c: fetches what is absent in the background, while no client asks for anything, and finishes
 * the disk when nothing is absent any more.  A thread of its own does this; streamed.c tells it what
 * clients read.
 *
 * What an order of reads names comes first (fill_ahead.c), since the machine will wait for it; then what
 * lies behind a place where the machine has just read, since it will probably be read next; then the
 * rest, in the order of the disk. */
#include <signal.h>
#include <stdlib.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/timed.h"
#include "stream/disk/streamed_impl.h"

enum {
	STEP_SECTORS = (1 << 20) / SECTOR_BYTES, /* fetched at a time; a client waits no longer
	                                          * than for one of them */
	AHEAD_SECTORS = (2 << 20) / SECTOR_BYTES, /* fetched behind a place that was read */
	LOOK_US = 5000, /* between two looks whether the disk is idle */
	/* A machine that is never idle gets STEP_SECTORS this often nevertheless, or it would
	 * depend on its server for ever. */
	BUSY_US = 250000,
	FLUSH_US = 5000000, /* between two flushes of what was fetched */
	FAILED_US = 10000000, /* until the next attempt after a failure of the source or disk */
	MARGIN_SECTORS = STEP_SECTORS, /* of a hint: nearer ones are the same place */
};

void
fill_hint(struct streamed *d, uint64_t sector)
{
	struct fill *f = &d->fill;

	if (!f->running)
		return;
	pthread_mutex_lock(&f->lock);
	unsigned last = (f->next_hint + FILL_HINTS - 1) % FILL_HINTS;
	if (f->hints[last] == UINT64_MAX || sector < f->hints[last] ||
	    sector - f->hints[last] > MARGIN_SECTORS) {
		f->hints[f->next_hint] = sector;
		f->next_hint = (f->next_hint + 1) % FILL_HINTS;
	}
	pthread_mutex_unlock(&f->lock);
}

/* Take the latest hint; UINT64_MAX: there is none. */
static uint64_t
take_hint(struct fill *f)
{
	pthread_mutex_lock(&f->lock);
	unsigned last = (f->next_hint + FILL_HINTS - 1) % FILL_HINTS;
	uint64_t hint = f->hints[last];
	if (hint != UINT64_MAX) {
		f->hints[last] = UINT64_MAX;
		f->next_hint = last;
	}
	pthread_mutex_unlock(&f->lock);
	return hint;
}

/* The first absent sectors of [from, to), STEP_SECTORS at most; length 0: there are none. */
static int
find_absent(struct streamed *d, uint64_t from, uint64_t to, struct range *r, struct err *e)
{
	uint64_t n;
	bool absent = false;

	for (; from < to && !absent; from += n) {
		struct range left = { from, to - from };
		if (streamed_absent_run(d, left, &absent, &n, e) != 0)
			return -1;
		*r = (struct range){ from, n < STEP_SECTORS ? n : STEP_SECTORS };
	}
	if (!absent)
		*r = (struct range){ to, 0 };
	return 0;
}

/* The sector behind the last one that the image stores. */
static uint64_t
end_of_stored(const struct streamed *d)
{
	size_t n = rangeset_count(&d->stored);

	return n > 0 ? range_end(rangeset_get(&d->stored, n - 1)) : 0;
}

/* Choose the sectors that are fetched next; length 0: nothing is absent. */
static int
choose(struct streamed *d, struct range *r, struct err *e)
{
	uint64_t end = end_of_stored(d), hint = take_hint(&d->fill);

	if (hint < end) {
		uint64_t to = end - hint < AHEAD_SECTORS ? end : hint + AHEAD_SECTORS;
		if (find_absent(d, hint, to, r, e) != 0)
			return -1;
		if (r->len > 0) {
			fill_hint(d, hint);
			return 0;
		}
	}
	if (find_absent(d, d->fill.cursor, end, r, e) != 0)
		return -1;
	d->fill.cursor = r->off;
	/* What could not be fetched lies in front of the cursor. */
	return r->len > 0 ? 0 : find_absent(d, 0, end, r, e);
}

static bool
is_idle(struct streamed *d)
{
	uint64_t idle_us = d->cfg.idle_ms * 1000;

	if (idle_us == 0)
		return true;
	return atomic_load(&d->requests) == 0 &&
	       clock_us() - atomic_load(&d->last_request_us) >= idle_us;
}

/* What is fetched at a time for a machine that is never idle: STEP_SECTORS, in one step or in
 * several, since an image may store many short runs, each of which is a step. */
struct share {
	uint64_t began;  /* when it began */
	uint64_t sectors; /* fetched since then */
};

static struct share
used_share(void)
{
	return (struct share){ .began = clock_us(), .sectors = STEP_SECTORS };
}

/* Wait until the disk is idle, or there is something left of a share. */
static void
wait_until_idle(struct streamed *d, struct share *s)
{
	while (!is_idle(d) && s->sectors >= STEP_SECTORS && cancel_signal() == 0) {
		if (clock_us() >= s->began + BUSY_US)
			*s = (struct share){ .began = clock_us() };
		else
			timed_sleep(LOOK_US);
	}
	if (is_idle(d))
		*s = used_share();
}

/* Fetch and write these sectors. */
static int
step(struct streamed *d, struct range r, uint8_t *buf, struct err *e)
{
	uint64_t written;

	if (streamed_fetch(d, buf, r.len * SECTOR_BYTES, r.off * SECTOR_BYTES, e) != 0 ||
	    streamed_put(d, r, buf, &written, e) != 0)
		return -1;
	atomic_fetch_add(&d->filled_bytes, written * SECTOR_BYTES);
	return 0;
}

/* When the next step may begin at this rate. */
static uint64_t
next_time(const struct streamed *d, uint64_t began, struct range r)
{
	return d->cfg.fill_rate == 0
	           ? began
	           : began + r.len * SECTOR_BYTES * 1000000 / d->cfg.fill_rate;
}

/* Hints that lead to these sectors lead behind them from now on. */
static void
move_hints(struct fill *f, struct range r)
{
	pthread_mutex_lock(&f->lock);
	for (unsigned i = 0; i < FILL_HINTS; i++)
		if (f->hints[i] < range_end(r) && range_end(r) - f->hints[i] <= AHEAD_SECTORS)
			f->hints[i] = range_end(r);
	pthread_mutex_unlock(&f->lock);
}

/* Say what failed, and try again later, behind it. */
static void
after_failure(struct streamed *d, struct range r, const struct err *e)
{
	if (e->kind == ERR_CANCELLED)
		return;
	streamed_tell(d, "%s; the disk is filled further in %d s", e->text,
	    FAILED_US / 1000000);
	d->fill.cursor = range_end(r);
	move_hints(&d->fill, r);
	timed_pause(clock_us() + FAILED_US);
}

/* Flush what was filled, now and then; a failure is told, and all later flushes fail, too. */
static void
flush_now_and_then(struct streamed *d, uint64_t *last, bool now)
{
	struct err e;

	if (!now && clock_us() < *last + FLUSH_US)
		return;
	*last = clock_us();
	if (table_is_dirty(d->table) && streamed_flush_some(d, true, &e) != 0)
		streamed_tell(d, "%s", e.text);
}

static void
finish(struct streamed *d)
{
	struct err e;

	if (streamed_finish(d, &e) == 0)
		streamed_tell(d, "%s: is complete", d->cfg.disk);
	else
		streamed_tell(d, "%s", e.text);
}

/* Fetch what the order names. */
static void
fill_in_order(struct streamed *d, uint64_t *flushed)
{
	fill_ahead_start(d);
	while (fill_ahead_runs(d)) {
		timed_sleep(LOOK_US);
		flush_now_and_then(d, flushed, false);
	}
	fill_ahead_end(d);
}

static void
fill_with(struct streamed *d, uint8_t *buf)
{
	uint64_t began = clock_us(), flushed = began, next = 0;
	struct share share = used_share();
	bool all = false; /* nothing is absent any more */
	struct range r;
	struct err e;

	fill_in_order(d, &flushed);
	while (cancel_signal() == 0 && !all) {
		timed_pause(next);
		wait_until_idle(d, &share);
		if (cancel_signal() != 0)
			break;
		began = clock_us();
		r = (struct range){ 0, 1 };
		int rc = choose(d, &r, &e);
		all = rc == 0 && r.len == 0;
		if (rc != 0 || (!all && step(d, r, buf, &e) != 0))
			after_failure(d, r, &e);
		share.sectors += r.len;
		next = next_time(d, began, r);
		flush_now_and_then(d, &flushed, all);
	}
	if (all)
		finish(d);
}

static void *
fill_disk(void *arg)
{
	struct streamed *d = arg;
	uint8_t *buf = malloc(STEP_SECTORS * SECTOR_BYTES);

	cancel_work_for(&d->fill.cancel);
	if (buf != NULL)
		fill_with(d, buf);
	else
		streamed_tell(d, "%s: there is no memory for filling the disk", d->cfg.disk);
	free(buf);
	return NULL;
}

int
fill_start(struct streamed *d, struct err *e)
{
	struct fill *f = &d->fill;

	if (d->cfg.no_fill)
		return 0;
	pthread_mutex_init(&f->lock, NULL);
	f->cancel.whole = cancel_owner();
	for (unsigned i = 0; i < FILL_HINTS; i++)
		f->hints[i] = UINT64_MAX;
	/* This is set before the thread begins, because the thread calls fill_hint(). */
	f->running = true;
	if (thread_start(&f->thread, fill_disk, d) == 0)
		return 0;
	f->running = false;
	pthread_mutex_destroy(&f->lock);
	return err_set(e, ERR_IO, "%s: no thread can be started", d->cfg.disk);
}

void
fill_end(struct streamed *d)
{
	struct fill *f = &d->fill;

	if (!f->running)
		return;
	f->cancel.signal = SIGTERM;
	pthread_join(f->thread, NULL);
	f->running = false;
	pthread_mutex_destroy(&f->lock);
}
