/* loop.h: what a daemon waits for: descriptors, each with a function that is called when there is
 * something to do, and times, each with a function that is called when it has come.  A loop
 * belongs to one thread. */
#ifndef COMMON_BASE_LOOP_H
#define COMMON_BASE_LOOP_H

#include <stdint.h>
#include <sys/epoll.h>

#include "common/base/err.h"

/* Embedded in whatever waits; it must stay where it is until loop_forget() or loop_leave(). */
struct watch {
	int fd; /* -1: nothing is waited for */
	void (*ready)(void *arg, uint32_t events);
	void *arg;
	uint32_t events; /* the loop's: what it waits for */
};

/* Something that has to be done at a time, which it is asked for in each turn.  Embedded in
 * whatever waits; it must stay where it is until loop_cancel(). */
struct deadline {
	uint64_t (*when)(void *arg); /* clock_us(); UINT64_MAX: never */
	void (*due)(void *arg, uint64_t now_us);
	void *arg;
	struct deadline *next; /* the loop's */
};

enum { LOOP_EVENTS = 64 };

struct loop {
	int epoll;
	struct watch waker;
	struct deadline *deadlines;
	/* The events of this turn; the watch of one is NULL when it was forgotten meanwhile. */
	struct epoll_event ready[LOOP_EVENTS];
	int nready;
};

/* ERR_IO: the system has no descriptor left. */
int loop_open(struct loop *, struct err *);
void loop_close(struct loop *);
/* Wait for these events (EPOLLIN, EPOLLOUT) on the watch's descriptor.  ERR_IO. */
int loop_watch(struct loop *, struct watch *, uint32_t events, struct err *);
/* Wait for these events from now on; 0: only for the end of a connection in both directions, and
 * for errors. */
void loop_change(struct loop *, struct watch *, uint32_t events);
/* Wait no longer.  loop_forget() closes the descriptor, loop_leave() leaves it open; the watch's
 * becomes -1.  A watch whose descriptor is -1 is left alone. */
void loop_forget(struct loop *, struct watch *);
void loop_leave(struct loop *, struct watch *);
/* Wait for this time, too, and no longer. */
void loop_expect(struct loop *, struct deadline *);
void loop_cancel(struct loop *, struct deadline *);
/* Wait for at most wait_ms (-1: without end), and call what is ready and what is due.  A signal
 * ends the wait. */
void loop_once(struct loop *, int wait_ms);
/* Ends the wait of loop_once(), or the next one.  It may be called in any thread, and
 * by a handler of signals. */
void loop_wake(struct loop *);

#endif /* COMMON_BASE_LOOP_H */
