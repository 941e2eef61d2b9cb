/* loop.h: what the controller waits for: descriptors, each with a function that is called when
 * there is something to do.  All of it is in one thread. */
#ifndef CONTROLLER_LOOP_LOOP_H
#define CONTROLLER_LOOP_LOOP_H

#include <stdint.h>
#include <sys/epoll.h>

#include "common/base/err.h"

/* Embedded in whatever waits; it must stay where it is until loop_forget(). */
struct watch {
	int fd; /* -1: nothing is waited for */
	void (*ready)(void *arg, uint32_t events);
	void *arg;
};

struct loop {
	int epoll;
};

/* ERR_IO: the system has no epoll descriptor left. */
int loop_open(struct loop *, struct err *);
void loop_close(struct loop *);
/* Wait for these events (EPOLLIN, EPOLLOUT) on the watch's descriptor.  ERR_IO. */
int loop_watch(struct loop *, struct watch *, uint32_t events, struct err *);
/* Wait for these events from now on; 0: only for the end of a connection in both directions, and
 * for errors. */
void loop_change(struct loop *, struct watch *, uint32_t events);
/* Wait no longer; the descriptor is closed, and becomes -1.  One that is -1 is left alone. */
void loop_forget(struct loop *, struct watch *);
/* Wait for at most wait_ms, and call what is ready.  A signal ends the wait. */
void loop_once(struct loop *, int wait_ms);

#endif /* CONTROLLER_LOOP_LOOP_H */
