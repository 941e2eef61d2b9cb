/* stock.h: things that are made once for all threads that want them, and kept as long as there
 * is room.
 *
 * A thing has a key.  The first thread that wants it makes it, without the stock's lock, while
 * others that want it wait, and different things are made at the same time.  What nobody uses
 * gives way to what is newer, used longest ago first; what is in use stays, also beyond the
 * limit.  What could not be made is not kept: who asks later tries again.
 *
 * All but stock_new() and stock_free() may be called from any thread.
 */
#ifndef COMMON_BASE_STOCK_H
#define COMMON_BASE_STOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"

struct stock;
/* One thing in it, in use by whoever got it. */
struct stock_item;

/* What making a thing has to say. */
struct stocked {
	void *thing;  /* the stock's from then on */
	size_t bytes; /* what it counts as */
	/* Called at its end, in any thread and with the stock's lock, so it may not call the
	 * stock. */
	void (*free)(void *thing);
};

/* max_bytes: of all things that nobody uses, and what the stock needs to know of them.
 * ERR_NOMEM. */
int stock_new(struct stock **, uint64_t max_bytes, struct err *);
/* Nothing is in use.  NULL is fine. */
void stock_free(struct stock *);

/* The thing with this key, in use until stock_put_back(); NULL: it is not there now. */
struct stock_item *stock_find(struct stock *, uint64_t key);
/* The same, made by make(arg) when it is not there; *made: this thread has made it.  NULL
 * with the error of make(), also for those who waited for it. */
struct stock_item *stock_get(struct stock *, uint64_t key,
    int (*make)(void *arg, struct stocked *, struct err *), void *arg, bool *made,
    struct err *);
/* The same with a thing that was made otherwise; no other thread is making one with this key
 * (asserted).  When there is one already, that is it, and `of` is freed; so it is when there is
 * no memory, with NULL. */
struct stock_item *stock_add(struct stock *, uint64_t key, struct stocked of);
void *stock_thing(const struct stock_item *);
void stock_put_back(struct stock *, struct stock_item *);
/* The same, and nobody finds it any more: it turned out to be of no use. */
void stock_spoil(struct stock *, struct stock_item *);
/* What all things count as now, those in use among them. */
uint64_t stock_bytes(struct stock *);

#endif /* COMMON_BASE_STOCK_H */
