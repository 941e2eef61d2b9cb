/* mailbox.c: passes events from any thread to one thread that sleeps in poll(2).  The loops
 * of loads, sessions and the master take events, each from a mailbox of its own; any thread
 * puts them. */
#include "common/base/mailbox.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct mailbox {
	pthread_mutex_t lock;
	int fd;
	bool rung; /* the descriptor is readable */
	uint32_t cap, head, count;
	struct event events[];
};

int
mailbox_new(struct mailbox **out, uint32_t cap, struct err *e)
{
	struct mailbox *m = calloc(1, sizeof *m + cap * sizeof m->events[0]);

	if (m == NULL)
		return err_nomem(e, "a mailbox");
	m->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (m->fd < 0) {
		free(m);
		return err_os(e, "eventfd");
	}
	m->cap = cap;
	pthread_mutex_init(&m->lock, NULL);
	*out = m;
	return 0;
}

void
mailbox_free(struct mailbox *m)
{
	if (m == NULL)
		return;
	close(m->fd);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

int
mailbox_fd(const struct mailbox *m)
{
	return m->fd;
}

void
mailbox_put(struct mailbox *m, uint32_t what, uint32_t n)
{
	uint64_t one = 1;

	pthread_mutex_lock(&m->lock);
	assert(m->count < m->cap);
	m->events[(m->head + m->count++) % m->cap] = (struct event){ what, n };
	/* the eventfd holds 1 until the mailbox is found empty; no further write is needed */
	if (!m->rung) {
		m->rung = true;
		ssize_t wrote = write(m->fd, &one, sizeof one);
		assert(wrote == sizeof one);
	}
	pthread_mutex_unlock(&m->lock);
}

bool
mailbox_take(struct mailbox *m, struct event *event)
{
	uint64_t rings;
	bool some;

	pthread_mutex_lock(&m->lock);
	some = m->count > 0;
	if (some) {
		*event = m->events[m->head];
		m->head = (m->head + 1) % m->cap;
		m->count--;
	} else if (m->rung) {
		m->rung = false;
		ssize_t n = read(m->fd, &rings, sizeof rings);
		assert(n == sizeof rings);
	}
	pthread_mutex_unlock(&m->lock);
	return some;
}
