/* stock_ahead.h: threads that get into a stock (stock.h) what will soon be asked for, so that
 * several of its things are made at once.  What is there or on its way is not got again. */
#ifndef COMMON_BASE_STOCK_AHEAD_H
#define COMMON_BASE_STOCK_AHEAD_H

#include "common/base/stock.h"

/* Eight requests at once, for blocks of 1 MiB, fill a link of 1 Gbit/s if an answer takes up to
 * 67 ms. */
enum { STOCK_AHEAD_THREADS_MAX = 8, STOCK_AHEAD_MOST = 32 };

struct stock_ahead;
/* Gets the thing with this key by stock_get(), for one of the threads. */
typedef struct stock_item *stock_ahead_get(void *arg, uint64_t key, struct err *);

/* Start up to `threads` (at most STOCK_AHEAD_THREADS_MAX) threads that call get(arg, key), each
 * for one key at a time.  The stock is borrowed until stock_ahead_end().  most: how many keys
 * may be wanted at once, those included that are being got; STOCK_AHEAD_MOST at most.  NULL: out
 * of memory.  Where no thread can be started, nothing is got ahead. */
struct stock_ahead *stock_ahead_new(struct stock *, unsigned threads, unsigned most,
    stock_ahead_get *get, void *arg);
/* End the threads.  What they are getting is given up as soon as they ask whether it is still
 * wanted (cancel.h): nobody may be waiting for it.  NULL is allowed. */
void stock_ahead_end(struct stock_ahead *);
/* End the threads, if stock_ahead_end() has not done so, and free *a.  The work of threads that
 * get() has started is a part of this work, so the caller must have ended them.  NULL is
 * allowed. */
void stock_ahead_free(struct stock_ahead *);
/* Have the thing with this key got, the first wanted first.  It is ignored where it is there or
 * wanted already, or too many are.  May be called by several threads at once. */
void stock_ahead_want(struct stock_ahead *, uint64_t key);

#endif /* COMMON_BASE_STOCK_AHEAD_H */
