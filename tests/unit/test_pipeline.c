/* Queue, ordered work, pool and pipeline: order, accounting, cancel. */
#include "common/base/ordered.h"
#include "common/base/pipeline.h"
#include "common/base/pool.h"
#include "common/base/queue.h"

#include <sched.h>
#include <stdint.h>
#include <string.h>

#include "tests/t.h"

enum { ITEMS = 20000, WORKERS = 4 };

struct shop {
	struct queue *queue;
	struct ordered *ordered;
	uintptr_t fail_at; /* 0: never */
	bool in_order;
	size_t taken;
};

struct worker {
	struct shop *shop;
	uintptr_t sum;
};

static int
consume(void *arg, struct err *e)
{
	struct worker *w = arg;
	void *item;

	(void)e;
	while (queue_get(w->shop->queue, &item) == QUEUE_OK)
		w->sum += (uintptr_t)item;
	return 0;
}

static void
test_queue(void)
{
	struct shop shop = { .queue = queue_new(8) };
	struct worker w[WORKERS] = { 0 };
	struct pipeline *p = pipeline_new();
	struct err e;
	uintptr_t sum = 0;
	void *item;

	T_CHECK(queue_try_get(shop.queue, &item) == QUEUE_END);
	pipeline_attach_queue(p, shop.queue);
	for (int i = 0; i < WORKERS; i++) {
		w[i].shop = &shop;
		pipeline_start(p, consume, &w[i]);
	}
	for (uintptr_t i = 1; i <= ITEMS; i++)
		queue_put(shop.queue, (void *)i);
	queue_close(shop.queue);
	T_CHECK(pipeline_join(p, &e) == 0);
	for (int i = 0; i < WORKERS; i++)
		sum += w[i].sum;
	T_CHECK(sum == (uintptr_t)ITEMS * (ITEMS + 1) / 2);
	pipeline_free(p);
	queue_free(shop.queue);
}

static int
work(void *arg, struct err *e)
{
	struct shop *s = arg;
	void *item;
	size_t ticket;

	while (ordered_begin(s->ordered, &item, &ticket) == QUEUE_OK) {
		if (ticket % 7 == 0)
			sched_yield(); /* finish out of order */
		if ((uintptr_t)item == s->fail_at)
			return err_set(
			    e, ERR_IO, "item %zu failed", (size_t)s->fail_at);
		ordered_done(s->ordered, ticket);
	}
	return 0;
}

static int
take(void *arg, struct err *e)
{
	struct shop *s = arg;
	void *item;

	(void)e;
	s->in_order = true;
	while (ordered_take(s->ordered, &item) == QUEUE_OK)
		s->in_order &= (uintptr_t)item == ++s->taken;
	return 0;
}

static int
run_ordered(struct shop *s, struct err *e)
{
	struct pipeline *p = pipeline_new();

	s->ordered = ordered_new(5);
	s->taken = 0;
	pipeline_attach_ordered(p, s->ordered);
	for (int i = 0; i < WORKERS; i++)
		pipeline_start(p, work, s);
	pipeline_start(p, take, s);
	for (uintptr_t i = 1; i <= ITEMS; i++)
		if (ordered_submit(s->ordered, (void *)i) != QUEUE_OK)
			break;
	ordered_close(s->ordered);
	int rc = pipeline_join(p, e);
	ordered_free(s->ordered);
	pipeline_free(p);
	return rc;
}

static void
test_ordered(void)
{
	struct shop s = { 0 };
	struct err e = { 0 };

	T_CHECK(run_ordered(&s, &e) == 0);
	T_CHECK(s.in_order);
	T_CHECK(s.taken == ITEMS);

	s.fail_at = 777;
	T_CHECK(run_ordered(&s, &e) == -1);
	T_CHECK(e.kind == ERR_IO);
	T_CHECK(strcmp(e.text, "item 777 failed") == 0);
	T_CHECK(s.in_order);
	T_CHECK(s.taken < 777);
}

static int
wait_for_buffer(void *arg, struct err *e)
{
	void *buf;

	return pool_get(arg, &buf) == QUEUE_CANCEL ? err_set(e, ERR_CANCELLED, "late")
	                                           : 0;
}

static void
test_pool(void)
{
	struct pool *pool = pool_new(2, 5000);
	struct pipeline *p = pipeline_new();
	struct err e, first = { .kind = ERR_IO, .text = "first" };
	void *a = NULL, *b = NULL;

	pipeline_attach_pool(p, pool);
	T_CHECK(pool_get(pool, &a) == QUEUE_OK);
	T_CHECK(pool_get(pool, &b) == QUEUE_OK);
	T_CHECK(a != b);
	T_CHECK((uintptr_t)a % 4096 == 0);
	pipeline_start(p, wait_for_buffer, pool);
	pipeline_fail(p, &first);
	T_CHECK(pipeline_failed(p));
	T_CHECK(pipeline_join(p, &e) == -1);
	T_CHECK(strcmp(e.text, "first") == 0);
	pool_put(pool, a);
	pool_put(pool, b);
	pool_free(pool);
	pipeline_free(p);
}

/* Without waiting: what is there, oldest first, and nothing else. */
static void
test_try_begin(void)
{
	struct ordered *o = ordered_new(3);
	size_t ticket = 9, first = 9;
	int a, b;
	void *item;

	T_CHECK(ordered_try_begin(o, &item, &ticket) == QUEUE_END);
	T_CHECK(ordered_submit(o, &a) == QUEUE_OK);
	T_CHECK(ordered_submit(o, &b) == QUEUE_OK);
	T_CHECK(ordered_begin(o, &item, &first) == QUEUE_OK);
	T_CHECK(item == &a);
	T_CHECK(ordered_try_begin(o, &item, &ticket) == QUEUE_OK);
	T_CHECK(item == &b);
	T_CHECK(first == 0);
	T_CHECK(ticket == 1);
	T_CHECK(ordered_try_begin(o, &item, &ticket) == QUEUE_END);
	ordered_done(o, ticket);
	ordered_done(o, first);
	T_CHECK(ordered_take(o, &item) == QUEUE_OK);
	T_CHECK(item == &a);
	T_CHECK(ordered_take(o, &item) == QUEUE_OK);
	T_CHECK(item == &b);
	ordered_close(o);
	T_CHECK(ordered_try_begin(o, &item, &ticket) == QUEUE_END);
	ordered_cancel(o);
	T_CHECK(ordered_try_begin(o, &item, &ticket) == QUEUE_CANCEL);
	ordered_free(o);
}

int
main(void)
{
	test_queue();
	test_ordered();
	test_try_begin();
	test_pool();
	return t_done();
}
