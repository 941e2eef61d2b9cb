/* fill_order.h: what of a streaming disk is fetched first, by an order of reads.  One
 * thread at a time calls this. */
#ifndef STREAM_DISK_FILL_ORDER_H
#define STREAM_DISK_FILL_ORDER_H

#include <stdbool.h>

#include "common/disk/range.h"
#include "stream/disk/streamed.h"

/* How far an order was given out. */
struct fill_order {
	const struct order *order; /* borrowed; NULL: there is none */
	size_t next;               /* the first run that was not given out as a whole */
	uint64_t given;            /* sectors of that run that were given out, or were present */
};

/* Are there runs left? */
bool fill_order_left(const struct fill_order *);
/* Give out the next sectors of the order that are absent, and those behind them on the disk
 * that are absent, too, and that the order has next: FILL_ORDER_SECTORS at most; length 0:
 * the order has none any more.  What was given out is not given out again, whether it was
 * fetched or not.  Errors of reading the sector table. */
int fill_order_next(
    struct fill_order *, struct streamed *, struct range *, struct err *);

/* 128 KiB: the FILL_AHEAD_THREADS pieces that are fetched at once delay a read by 1 MiB at
 * most. */
enum { FILL_ORDER_SECTORS = 256 };

#endif /* STREAM_DISK_FILL_ORDER_H */
