/* loop.c: waits for descriptors with epoll (loop.h).  The controller calls this in the program's
 * first thread. */
#include "controller/loop/loop.h"

#include <unistd.h>

enum { ROUNDS = 256 };

int
loop_open(struct loop *l, struct err *e)
{
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	return l->epoll >= 0 ? 0 : err_os(e, "the controller cannot wait for anything");
}

void
loop_close(struct loop *l)
{
	if (l->epoll >= 0)
		close(l->epoll);
	l->epoll = -1;
}

int
loop_watch(struct loop *l, struct watch *w, uint32_t events, struct err *e)
{
	struct epoll_event ev = { .events = events, .data.ptr = w };

	return epoll_ctl(l->epoll, EPOLL_CTL_ADD, w->fd, &ev) == 0
	           ? 0
	           : err_os(e, "the controller cannot wait for a descriptor");
}

void
loop_change(struct loop *l, struct watch *w, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = w };

	epoll_ctl(l->epoll, EPOLL_CTL_MOD, w->fd, &ev);
}

void
loop_forget(struct loop *l, struct watch *w)
{
	if (w->fd < 0)
		return;
	epoll_ctl(l->epoll, EPOLL_CTL_DEL, w->fd, NULL);
	close(w->fd);
	w->fd = -1;
}

void
loop_once(struct loop *l, int wait_ms)
{
	struct epoll_event ev;

	/* One event at a time, because each may forget any watch. */
	for (int i = 0; i < ROUNDS && epoll_wait(l->epoll, &ev, 1, i == 0 ? wait_ms : 0) == 1; i++) {
		struct watch *w = ev.data.ptr;
		w->ready(w->arg, ev.events);
	}
}
