/* fill_ahead.h: what fetches the sectors that an order of reads names.  The functions are in
 * streamed_impl.h. */
#ifndef STREAM_DISK_FILL_AHEAD_H
#define STREAM_DISK_FILL_AHEAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/disk/range.h"
#include "stream/disk/fill_order.h"

/* Fetches in flight.  A source that is 40 ms away has an answer under way for as long, so that
 * one fetch after the other would leave most of a fast link unused. */
enum { FILL_AHEAD_THREADS = 8 };

struct fill_ahead {
	pthread_t threads[FILL_AHEAD_THREADS];
	unsigned started;    /* only fill.c's thread uses this */
	atomic_uint running; /* threads that have not ended */
	pthread_mutex_t order_lock; /* guards the next three; taken before flight_lock */
	struct fill_order order;
	unsigned numbered; /* threads that have a number */
	uint64_t next_us; /* when the next fetch may begin, by the rate */
	pthread_mutex_t flight_lock; /* guards the next two */
	pthread_cond_t landed;       /* a fetch has ended */
	struct range flights[FILL_AHEAD_THREADS]; /* what is being fetched; length 0: nothing */
	unsigned nflights;
};

#endif /* STREAM_DISK_FILL_AHEAD_H */
