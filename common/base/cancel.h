/* cancel.h: work that is to end early.
 *
 * Whoever has work done owns a struct cancel, and calls cancel_work_for() with it in the
 * thread that does the work.  Threads that this one starts with thread_start() have the
 * same owner.  Libraries look, wherever something may take long, whether the work is still
 * wanted.  So a program ends by a signal, and one session of several by itself; a
 * thread that works for nobody is never told to end.
 */
#ifndef COMMON_BASE_CANCEL_H
#define COMMON_BASE_CANCEL_H

#include <pthread.h>
#include <stdatomic.h>

#include "common/base/err.h"

struct cancel {
	atomic_int signal; /* 0: go on; else the signal that says why not */
	/* The work that this work is a part of: when that is to end, this is to end, too.
	 * It outlives this struct.  NULL: this work is no part of another. */
	const struct cancel *whole;
};

/* From now on this thread works for that owner, which must stay as long as the thread
 * works.  NULL: the thread works for nobody. */
void cancel_work_for(struct cancel *);
/* The owner that this thread works for; NULL: it works for nobody. */
struct cancel *cancel_owner(void);
/* The signal that ends this thread's work, or 0. */
int cancel_signal(void);
/* ERR_CANCELLED "interrupted by SIGINT" when the work is to end, else 0. */
int cancel_check(struct err *);

/* As pthread_create(3) without attributes: 0, or the error. */
int thread_start(pthread_t *, void *(*run)(void *), void *arg);

#endif /* COMMON_BASE_CANCEL_H */
