/* holds.c: the locks of a disk's pages.  The files of stream/disk call this, in any thread. */
#include "stream/disk/holds.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

void
holds_init(struct holds *h)
{
	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->released, NULL);
	h->first = NULL;
}

void
holds_free(struct holds *h)
{
	assert(h->first == NULL);
	pthread_cond_destroy(&h->released);
	pthread_mutex_destroy(&h->lock);
}

/* Is none of the wanted pages held, or waited for, by a thread that asked earlier? */
static bool
is_free(const struct holds *h, const struct hold *wanted)
{
	for (const struct hold *p = h->first; p != wanted; p = p->next)
		if (p->from < wanted->to && wanted->from < p->to)
			return false;
	return true;
}

static void
append(struct holds *h, struct hold *own)
{
	struct hold **p = &h->first;

	while (*p != NULL)
		p = &(*p)->next;
	own->next = NULL;
	*p = own;
}

void
hold_take(struct holds *h, struct hold *own, uint64_t at_bytes, uint64_t bytes)
{
	own->from = at_bytes / HOLD_PAGE_BYTES;
	own->to = (at_bytes + bytes - 1) / HOLD_PAGE_BYTES + 1;
	pthread_mutex_lock(&h->lock);
	append(h, own);
	while (!is_free(h, own))
		pthread_cond_wait(&h->released, &h->lock);
	pthread_mutex_unlock(&h->lock);
}

void
hold_release(struct holds *h, struct hold *own)
{
	struct hold **p = &h->first;

	pthread_mutex_lock(&h->lock);
	while (*p != own)
		p = &(*p)->next;
	*p = own->next;
	pthread_cond_broadcast(&h->released);
	pthread_mutex_unlock(&h->lock);
}
