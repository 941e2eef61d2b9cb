/* Locks of pages: whoever asked first is served first, also when he wants many pages. */
#include "stream/disk/holds.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/t.h"

static struct holds holds;
static atomic_uint served;

struct asker {
	pthread_t thread;
	uint64_t at, pages;
	unsigned place; /* the how-manieth was served; 1: the first one */
};

static void *
ask(void *arg)
{
	struct asker *a = arg;
	struct hold hold;

	hold_take(&holds, &hold, a->at * HOLD_PAGE_BYTES, a->pages * HOLD_PAGE_BYTES);
	a->place = atomic_fetch_add(&served, 1) + 1;
	hold_release(&holds, &hold);
	return NULL;
}

static unsigned
count(void)
{
	unsigned n = 0;

	pthread_mutex_lock(&holds.lock);
	for (const struct hold *h = holds.first; h != NULL; h = h->next)
		n++;
	pthread_mutex_unlock(&holds.lock);
	return n;
}

/* Start a thread, and wait until it waits, or has been served. */
static void
start(struct asker *a)
{
	unsigned before = count(), done = atomic_load(&served);

	if (pthread_create(&a->thread, NULL, ask, a) != 0)
		abort();
	while (count() == before && atomic_load(&served) == done)
		usleep(1000);
}

int
main(void)
{
	struct asker many = { .at = 0, .pages = 10 }, one = { .at = 5, .pages = 1 },
		     apart = { .at = 20, .pages = 1 };
	struct hold first;

	holds_init(&holds);
	hold_take(&holds, &first, 0, 1);
	start(&many);
	start(&one);
	start(&apart);
	pthread_join(apart.thread, NULL);
	T_CHECK(apart.place == 1); /* nobody wants its page */
	hold_release(&holds, &first);
	pthread_join(many.thread, NULL);
	pthread_join(one.thread, NULL);
	T_CHECK(many.place == 2 && one.place == 3);
	T_CHECK(count() == 0);
	holds_free(&holds);
	return t_done();
}
