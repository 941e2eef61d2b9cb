/* fill_order.h: what of a streaming disk is fetched first, by an order of reads.  The
 * thread that fills the disk is the only one that calls this. */
#ifndef STREAM_DISK_FILL_ORDER_H
#define STREAM_DISK_FILL_ORDER_H

#include "common/disk/range.h"
#include "stream/disk/streamed.h"

/* Where the thread is in the order. */
struct fill_order {
	const struct order *order; /* borrowed; NULL: there is none */
	size_t next;               /* the first run that may have absent sectors */
};

/* Are there runs left? */
bool fill_order_left(const struct fill_order *);
/* The next sectors of the order that are absent, and those behind them that are absent,
 * too, and that the order has next: FILL_ORDER_SECTORS at most; length 0: the order has
 * none any more. Errors of reading the sector table. */
int fill_order_next(
    struct fill_order *, struct streamed *, struct range *, struct err *);

/* 256 KiB: a client that waits meanwhile waits for no more than that. */
enum { FILL_ORDER_SECTORS = 512 };

#endif /* STREAM_DISK_FILL_ORDER_H */
