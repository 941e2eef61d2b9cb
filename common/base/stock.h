/* stock.h: things that are made once for all threads that want them, and kept as long as
 * there is room.
 *
 * A thing has a key.  The first thread that wants it makes it, without the stock's lock,
 * while others that want it wait; different things are made at the same time.  When the
 * limit is exceeded, unused things are forgotten, the one used longest ago first; things in
 * use stay even beyond the limit.  When making a thing fails, nothing is kept: a thread
 * that asks later tries again.
 *
 * All functions but stock_new() and stock_free() may be called from any thread. */
#ifndef COMMON_BASE_STOCK_H
#define COMMON_BASE_STOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"

struct stock;
/* One thing in the stock, in use by the thread that got it. */
struct stock_item;

/* What a function that makes a thing returns. */
struct stocked {
	void *thing;  /* belongs to the stock from then on */
	size_t bytes; /* what it counts towards the limit */
	/* Frees the thing.  It is called in any thread and with the stock's lock, so it may
	 * not call the stock. */
	void (*free)(void *thing);
};

/* Make an empty stock.  max_bytes: the limit for all things, and what the stock itself needs
 * for them; things in use may exceed it.  ERR_NOMEM. */
int stock_new(struct stock **, uint64_t max_bytes, struct err *);
/* Free the stock and its things, none of which may be in use (asserted).  NULL is allowed. */
void stock_free(struct stock *);

/* The thing with this key, in use until stock_put_back(); NULL: it is not there now. */
struct stock_item *stock_find(struct stock *, uint64_t key);
/* Is it there now? */
bool stock_has(struct stock *, uint64_t key);
/* Like stock_find(), but a thing that is not there is made by make(arg).  *made: this thread
 * made it, or tried.  NULL with the error of make(), also in the threads that waited for it;
 * but when that is ERR_FORMAT, each of these makes the thing itself, since it may make it of
 * better data.  ERR_NOMEM. */
struct stock_item *stock_get(struct stock *, uint64_t key,
    int (*make)(void *arg, struct stocked *, struct err *), void *arg, bool *made,
    struct err *);
/* Adds a thing that was made otherwise, and returns it in use.  No other thread may be
 * making a thing with this key (asserted).  When there is one already, that one is
 * returned, and `of` is freed.  When there is no memory, `of` is freed, too, and NULL is
 * returned. */
struct stock_item *stock_add(struct stock *, uint64_t key, struct stocked of);
/* The thing itself, valid until stock_put_back(). */
void *stock_thing(const struct stock_item *);
/* Ends this thread's use of the item, which may be forgotten then. */
void stock_put_back(struct stock *, struct stock_item *);
/* Like stock_put_back(), for a thing that turned out to be unusable: it is not found any
 * more, and is freed by its last user. */
void stock_spoil(struct stock *, struct stock_item *);
/* The bytes that all things count now, those in use included. */
uint64_t stock_bytes(struct stock *);

#endif /* COMMON_BASE_STOCK_H */
