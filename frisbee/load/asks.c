/* asks.c: what other threads ask of a load's loop.  load.c asks, in any thread; loop.c takes, in
 * the load's. */
#include "frisbee/load/asks.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "frisbee/client/client.h"

struct asks {
	struct mailbox *box;
	pthread_mutex_t lock; /* of all members below */
	bool told;            /* ASKS_EVENT was put, and the loop has not taken all yet */
	uint32_t n;
	struct asked_chunk chunks[CLIENT_URGENT_MAX]; /* oldest first */
};

int
asks_new(struct asks **out, struct mailbox *box, struct err *e)
{
	struct asks *a = calloc(1, sizeof *a);

	if (a == NULL)
		return err_nomem(e, "the client");
	a->box = box;
	pthread_mutex_init(&a->lock, NULL);
	*out = a;
	return 0;
}

void
asks_free(struct asks *a)
{
	if (a == NULL)
		return;
	pthread_mutex_destroy(&a->lock);
	free(a);
}

/* Sends ASKS_EVENT if none is on its way.  The caller holds the lock. */
static void
tell(struct asks *a)
{
	if (!a->told)
		mailbox_put(a->box, ASKS_EVENT, 0);
	a->told = true;
}

static void
drop_first(struct asks *a)
{
	a->n--;
	memmove(a->chunks, a->chunks + 1, a->n * sizeof a->chunks[0]);
}

void
asks_chunk(struct asks *a, const struct asked_chunk *c)
{
	pthread_mutex_lock(&a->lock);
	if (a->n == CLIENT_URGENT_MAX)
		drop_first(a);
	a->chunks[a->n++] = *c;
	tell(a);
	pthread_mutex_unlock(&a->lock);
}

void
asks_to_look(struct asks *a)
{
	pthread_mutex_lock(&a->lock);
	tell(a);
	pthread_mutex_unlock(&a->lock);
}

bool
asks_take(struct asks *a, struct asked_chunk *c)
{
	pthread_mutex_lock(&a->lock);
	bool any = a->n > 0;
	if (any) {
		*c = a->chunks[0];
		drop_first(a);
	}
	a->told = any;
	pthread_mutex_unlock(&a->lock);
	return any;
}
