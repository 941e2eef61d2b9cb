/* ahead.h: threads that get what will soon be asked for.  What is wanted has a number, whose
 * meaning is the caller's; a function of the caller's gets it, into a stock (stock.h) for
 * example.  What is wanted already is not wanted twice. */
#ifndef EMUSTORE_STORE_AHEAD_H
#define EMUSTORE_STORE_AHEAD_H

#include <stdint.h>

/* Eight requests at once, for blocks of 1 MiB, fill a link of 1 Gbit/s if an answer takes up to 67 ms. */
enum { AHEAD_THREADS_MAX = 8, AHEAD_MOST = 32 };

struct ahead;

/* Start up to `threads` (at most AHEAD_THREADS_MAX) threads that call get(arg, number), each
 * for one number at a time.  most: how many numbers may be wanted at once, those included that
 * are being got; AHEAD_MOST at most.  NULL: out of memory.  Where no thread can be started,
 * nothing is got ahead. */
struct ahead *ahead_new(
    unsigned threads, unsigned most, void (*get)(void *arg, uint64_t number), void *arg);
/* End the threads.  What they are getting is given up as soon as they ask whether it is still
 * wanted (cancel.h): nobody may be waiting for it.  NULL is allowed. */
void ahead_end(struct ahead *);
/* End the threads, if ahead_end() has not done so, and free *a.  The work of threads that get()
 * has started is a part of this work, so the caller must have ended them.  NULL is allowed. */
void ahead_free(struct ahead *);
/* Have a number got, the first wanted first.  It is ignored where it is wanted already, or too
 * many are.  May be called by several threads at once. */
void ahead_want(struct ahead *, uint64_t number);

#endif /* EMUSTORE_STORE_AHEAD_H */
