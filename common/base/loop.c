/* loop.c: waits for descriptors with epoll, and for times (loop.h).  Daemons call this, each in the
 * thread that has the loop. */
#include "common/base/loop.h"

#include <limits.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/base/clock.h"

static void
on_wake(void *arg, uint32_t events)
{
	struct loop *l = arg;
	eventfd_t ignored;
	(void)events;

	(void)eventfd_read(l->waker.fd, &ignored);
}

int
loop_open(struct loop *l, struct err *e)
{
	*l = (struct loop){ .epoll = epoll_create1(EPOLL_CLOEXEC),
		.waker = { eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), on_wake, l, 0 } };
	if (l->epoll < 0 || l->waker.fd < 0)
		return err_os(e, "nothing can be waited for");
	return loop_watch(l, &l->waker, EPOLLIN, e);
}

void
loop_wake(struct loop *l)
{
	(void)eventfd_write(l->waker.fd, 1);
}

void
loop_close(struct loop *l)
{
	if (l->epoll >= 0)
		loop_forget(l, &l->waker);
	if (l->epoll >= 0)
		close(l->epoll);
	l->epoll = -1;
}

int
loop_watch(struct loop *l, struct watch *w, uint32_t events, struct err *e)
{
	struct epoll_event ev = { .events = events, .data.ptr = w };

	w->events = events;
	return epoll_ctl(l->epoll, EPOLL_CTL_ADD, w->fd, &ev) == 0
	           ? 0
	           : err_os(e, "a descriptor cannot be waited for");
}

void
loop_change(struct loop *l, struct watch *w, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = w };

	if (events != w->events)
		epoll_ctl(l->epoll, EPOLL_CTL_MOD, w->fd, &ev);
	w->events = events;
}

void
loop_leave(struct loop *l, struct watch *w)
{
	if (w->fd < 0)
		return;
	epoll_ctl(l->epoll, EPOLL_CTL_DEL, w->fd, NULL);
	w->fd = -1;
	for (int i = 0; i < l->nready; i++)
		if (l->ready[i].data.ptr == w)
			l->ready[i].data.ptr = NULL;
}

void
loop_forget(struct loop *l, struct watch *w)
{
	int fd = w->fd;

	loop_leave(l, w);
	if (fd >= 0)
		close(fd);
}

void
loop_expect(struct loop *l, struct deadline *d)
{
	d->next = l->deadlines;
	l->deadlines = d;
}

void
loop_cancel(struct loop *l, struct deadline *d)
{
	struct deadline **at = &l->deadlines;

	while (*at != NULL && *at != d)
		at = &(*at)->next;
	if (*at != NULL)
		*at = d->next;
}

/* For how long to wait; what is due is due within the millisecond that was begun. */
static int
until_due(const struct loop *l, int wait_ms)
{
	uint64_t now = clock_us(), wait = wait_ms < 0 ? INT_MAX : (uint64_t)wait_ms;

	for (const struct deadline *d = l->deadlines; d != NULL; d = d->next) {
		uint64_t at = d->when(d->arg), ms = at <= now ? 0 : (at - now - 1) / 1000 + 1;
		wait = ms < wait ? ms : wait;
	}
	return wait == INT_MAX ? -1 : (int)wait;
}

/* A deadline that is due may cancel itself, but no other one. */
static void
do_what_is_due(struct loop *l)
{
	uint64_t now = clock_us();

	for (struct deadline *d = l->deadlines, *next; d != NULL; d = next) {
		next = d->next;
		if (d->when(d->arg) <= now)
			d->due(d->arg, now);
	}
}

void
loop_once(struct loop *l, int wait_ms)
{
	int n = epoll_wait(l->epoll, l->ready, LOOP_EVENTS, until_due(l, wait_ms));

	l->nready = n > 0 ? n : 0;
	for (int i = 0; i < l->nready; i++) {
		struct watch *w = l->ready[i].data.ptr;
		if (w != NULL)
			w->ready(w->arg, l->ready[i].events);
	}
	l->nready = 0;
	do_what_is_due(l);
}
