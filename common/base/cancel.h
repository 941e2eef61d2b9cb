/* cancel.h: ends work early.
 *
 * Whoever has work done owns a struct cancel, and calls cancel_work_for() with it in the
 * thread that does the work.  Threads that this one starts with thread_start() have the
 * same owner.  Wherever something may take long, libraries ask whether the work is still
 * wanted.  With this, a signal ends a whole program, and a program can end one of several
 * sessions alone.  A thread that works for nobody is never told to end. */
#ifndef COMMON_BASE_CANCEL_H
#define COMMON_BASE_CANCEL_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "common/base/err.h"

struct loop;

struct cancel {
	atomic_int signal; /* 0: go on; else the signal because of which the work ends */
	/* The work that this work is a part of: when the whole is to end, its parts are to
	 * end, too.  The whole must outlive this struct.  NULL: this work is no part of
	 * another. */
	const struct cancel *whole;
	/* The loop (loop.h) that is woken when cancel_end() was called. */
	struct loop *_Atomic wakes;
};

/* From now on this thread works for that owner, which must stay as long as the thread
 * works.  NULL: the thread works for nobody. */
void cancel_work_for(struct cancel *);
/* The owner that this thread works for; NULL: it works for nobody. */
struct cancel *cancel_owner(void);
/* From now on cancel_end() of this thread's owner wakes this loop; NULL: none.  A loop
 * that is closed must not be woken any more. */
void cancel_wakes(struct loop *);
/* Ends the work for that signal.  A handler of signals may call it. */
void cancel_end(struct cancel *, int signal);
/* The signal that ends this thread's work, or 0. */
int cancel_signal(void);
/* ERR_CANCELLED "interrupted by SIGINT" when the work is to end, else 0. */
int cancel_check(struct err *);

/* A program that calls cancel_interrupt() has a handler for this signal, which does nothing; and
 * without SA_RESTART, so that a call that waits ends with EINTR. */
enum { CANCEL_INTERRUPTS = SIGUSR1 };
/* Sends that signal to each thread whose work is to end, and which does not know that yet: it has
 * not asked since.  A signal that ends a program interrupts one thread alone, and that one only
 * when it waits already; so this is called again and again.  Who knows that it is to end does
 * that without being disturbed. */
void cancel_interrupt(void);
/* cancel_interrupt() counts with the threads of thread_start(), and from now on with this one,
 * which ends with the program. */
void cancel_enlist(void);

/* Starts a thread, as pthread_create(3) without attributes does.  The new thread works for
 * the owner of the calling thread.  Returns 0, or the errno of what failed. */
int thread_start(pthread_t *, void *(*run)(void *), void *arg);

#endif /* COMMON_BASE_CANCEL_H */
