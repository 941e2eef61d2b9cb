/* fill_ahead.c: fetches what an order of reads names, before the rest of the disk is filled.  fill.c
 * starts and ends the threads that do this; streamed.c asks, in the threads of clients, whether what
 * a client wants is being fetched.
 *
 * The machine will wait for all that the order names, so these threads do not wait until the disk
 * is idle, and several pieces are fetched at once.  While a client waits for the source, few are, so
 * that what the client waits for has most of the link. */
#include <stdlib.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/timed.h"
#include "stream/disk/streamed_impl.h"

enum {
	FEW = 2,        /* fetches in flight while a client waits */
	LOOK_US = 2000, /* between two looks whether a fetch may begin */
	AWAIT_US = 50000, /* between two looks whether whoever waits is to end */
	FAILED_US = 10000000, /* until the thread goes on after a failure of the source or disk */
};

void
fill_ahead_init(struct streamed *d)
{
	struct fill_ahead *o = &d->ahead;

	pthread_mutex_init(&o->order_lock, NULL);
	pthread_mutex_init(&o->flight_lock, NULL);
	pthread_cond_init(&o->landed, NULL);
	o->order = (struct fill_order){ .order = d->cfg.order };
}

void
fill_ahead_free(struct streamed *d)
{
	struct fill_ahead *o = &d->ahead;

	pthread_cond_destroy(&o->landed);
	pthread_mutex_destroy(&o->flight_lock);
	pthread_mutex_destroy(&o->order_lock);
}

/* Which fetches are in flight. */

static void
take_off(struct fill_ahead *o, unsigned i, struct range r)
{
	pthread_mutex_lock(&o->flight_lock);
	o->flights[i] = r;
	o->nflights++;
	pthread_mutex_unlock(&o->flight_lock);
}

static void
land(struct fill_ahead *o, unsigned i)
{
	pthread_mutex_lock(&o->flight_lock);
	o->flights[i].len = 0;
	o->nflights--;
	pthread_cond_broadcast(&o->landed);
	pthread_mutex_unlock(&o->flight_lock);
}

static bool
is_in_flight(const struct fill_ahead *o, struct range r)
{
	for (unsigned i = 0; i < FILL_AHEAD_THREADS; i++)
		if (range_clip(o->flights[i], r.off, range_end(r)).len > 0)
			return true;
	return false;
}

bool
fill_ahead_await(struct streamed *d, struct range r)
{
	struct fill_ahead *o = &d->ahead;
	bool waited = false;

	if (atomic_load(&o->running) == 0)
		return false;
	atomic_fetch_add(&d->fetching, 1);
	pthread_mutex_lock(&o->flight_lock);
	while (is_in_flight(o, r) && atomic_load(&d->waiting) == 0 && cancel_signal() == 0) {
		timed_wait(&o->landed, &o->flight_lock, clock_us() + AWAIT_US);
		waited = true;
	}
	pthread_mutex_unlock(&o->flight_lock);
	atomic_fetch_sub(&d->fetching, 1);
	return waited;
}

/* The threads. */

/* May a fetch begin now?  The caller holds order_lock. */
static bool
may_begin(struct streamed *d)
{
	struct fill_ahead *o = &d->ahead;

	if (clock_us() < o->next_us)
		return false;
	pthread_mutex_lock(&o->flight_lock);
	bool many = o->nflights >= FEW;
	pthread_mutex_unlock(&o->flight_lock);
	return !many || atomic_load(&d->fetching) == 0;
}

/* Note when the next fetch may begin, after this one. */
static void
count_for_rate(struct streamed *d, struct range r)
{
	if (d->cfg.fill_rate != 0)
		d->ahead.next_us =
		    clock_us() + r.len * SECTOR_BYTES * 1000000 / d->cfg.fill_rate;
}

/* Take the next sectors of the order as the i-th flight, when a fetch may begin.  Length 0: the
 * order has none any more, or the thread is to end. */
static int
take(struct streamed *d, unsigned i, struct range *r, struct err *e)
{
	struct fill_ahead *o = &d->ahead;
	int rc = 0;

	*r = (struct range){ 0, 0 };
	pthread_mutex_lock(&o->order_lock);
	while (cancel_signal() == 0 && fill_order_left(&o->order) && !may_begin(d)) {
		pthread_mutex_unlock(&o->order_lock);
		timed_sleep(LOOK_US);
		pthread_mutex_lock(&o->order_lock);
	}
	if (cancel_signal() == 0)
		rc = fill_order_next(&o->order, d, r, e);
	if (rc == 0 && r->len > 0) {
		count_for_rate(d, *r);
		take_off(o, i, *r);
	}
	pthread_mutex_unlock(&o->order_lock);
	return rc;
}

/* Fetch what the order has next.  1; 0: there is none any more; -1. */
static int
fetch_next(struct streamed *d, unsigned i, uint8_t *buf, struct err *e)
{
	uint64_t written = 0;
	struct range r;

	if (take(d, i, &r, e) != 0)
		return -1;
	if (r.len == 0)
		return 0;
	int rc = streamed_fetch(d, buf, r.len * SECTOR_BYTES, r.off * SECTOR_BYTES, e);
	if (rc == 0)
		rc = streamed_put(d, r, buf, &written, e);
	land(&d->ahead, i);
	atomic_fetch_add(&d->filled_bytes, written * SECTOR_BYTES);
	atomic_fetch_add(&d->ordered_bytes, written * SECTOR_BYTES);
	return rc == 0 ? 1 : -1;
}

/* Take a number that no other thread has. */
static unsigned
own_number(struct fill_ahead *o)
{
	pthread_mutex_lock(&o->order_lock);
	unsigned i = o->numbered++;
	pthread_mutex_unlock(&o->order_lock);
	return i;
}

static void *
fetch_all(void *arg)
{
	struct streamed *d = arg;
	unsigned i = own_number(&d->ahead);
	uint8_t *buf = malloc(FILL_ORDER_SECTORS * SECTOR_BYTES);
	struct err e;
	int rc = buf != NULL ? 1 : 0;

	if (buf == NULL)
		streamed_tell(d, "%s: there is no memory for what an order names", d->cfg.disk);
	while (rc != 0 && cancel_signal() == 0) {
		rc = fetch_next(d, i, buf, &e);
		if (rc < 0 && e.kind != ERR_CANCELLED) {
			streamed_tell(d, "%s; fetching by the order of reads goes on in %d s",
			    e.text, FAILED_US / 1000000);
			timed_pause(clock_us() + FAILED_US);
		}
	}
	free(buf);
	atomic_fetch_sub(&d->ahead.running, 1);
	return NULL;
}

void
fill_ahead_start(struct streamed *d)
{
	struct fill_ahead *o = &d->ahead;

	if (!fill_order_left(&o->order))
		return;
	for (; o->started < FILL_AHEAD_THREADS; o->started++) {
		atomic_fetch_add(&o->running, 1);
		if (thread_start(&o->threads[o->started], fetch_all, d) != 0) {
			atomic_fetch_sub(&o->running, 1);
			break;
		}
	}
	if (o->started == 0)
		streamed_tell(d, "%s: no thread can be started for what an order names",
		    d->cfg.disk);
}

bool
fill_ahead_runs(struct streamed *d)
{
	return atomic_load(&d->ahead.running) > 0;
}

void
fill_ahead_end(struct streamed *d)
{
	struct fill_ahead *o = &d->ahead;

	for (; o->started > 0; o->started--)
		pthread_join(o->threads[o->started - 1], NULL);
}
