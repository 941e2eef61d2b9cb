/* Things that are made once: what is kept, what gives way, what several threads get, what
 * becomes of a making that fails, and what is made ahead. */
#include "common/base/stock_ahead.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/t.h"

enum { THING_BYTES = 4096, ROOM = 4 };

static _Atomic unsigned makings, alive;
static _Atomic bool failing;

static void
free_int(void *thing)
{
	alive--;
	free(thing);
}

static int
make_int(void *arg, struct stocked *of, struct err *e)
{
	makings++;
	usleep(2000);
	if (failing)
		return err_set(e, ERR_IO, "it cannot be made");
	int *thing = malloc(sizeof *thing);
	*thing = *(int *)arg;
	alive++;
	*of = (struct stocked){ thing, THING_BYTES, free_int };
	return 0;
}

/* Was it made for this, and is it what it should be? */
static bool
made_now(struct stock *s, int key)
{
	bool made, right;
	struct err e;
	struct stock_item *i = stock_get(s, (uint64_t)key, make_int, &key, &made, &e);

	right = i != NULL && *(int *)stock_thing(i) == key;
	T_CHECK(right);
	if (i != NULL)
		stock_put_back(s, i);
	return made;
}

static struct stock *
new_stock(unsigned things)
{
	struct stock *s;
	struct err e;

	/* An item has some bytes of its own, but fewer than one thing more would need. */
	T_CHECK(stock_new(&s, (uint64_t)things * THING_BYTES + THING_BYTES - 1, &e) == 0);
	return s;
}

static void
test_order(void)
{
	struct stock *s = new_stock(ROOM);

	for (int i = 0; i < ROOM; i++)
		T_CHECK(made_now(s, i));
	T_CHECK(!made_now(s, 0)); /* so 1 is the oldest */
	T_CHECK(made_now(s, 77));
	T_CHECK(!made_now(s, 0));
	T_CHECK(!made_now(s, 2));
	T_CHECK(made_now(s, 1));
	T_CHECK(alive == ROOM);
	T_CHECK(stock_find(s, 99) == NULL);
	stock_free(s);
	T_CHECK(alive == 0);
}

/* What is in use stays, though there is no room for it. */
static void
test_use(void)
{
	struct stock *s = new_stock(0);
	struct stock_item *used[3];
	struct err e;
	bool made;

	for (int i = 0; i < 3; i++)
		used[i] = stock_get(s, (uint64_t)i, make_int, &i, &made, &e);
	T_CHECK(alive == 3);
	T_CHECK(stock_bytes(s) > 3 * THING_BYTES);
	for (int i = 0; i < 3; i++) {
		T_CHECK(*(int *)stock_thing(used[i]) == i);
		stock_put_back(s, used[i]);
	}
	T_CHECK(alive == 0);
	T_CHECK(stock_bytes(s) == 0);
	stock_free(s);
}

static void
test_add(void)
{
	struct stock *s = new_stock(ROOM);
	struct stocked of;
	struct err e;
	int number = 5, other = 6;

	T_CHECK(make_int(&number, &of, &e) == 0);
	struct stock_item *i = stock_add(s, 5, of);
	T_CHECK(i != NULL);
	T_CHECK(!made_now(s, 5));
	T_CHECK(make_int(&other, &of, &e) == 0);
	T_CHECK(stock_add(s, 5, of) == i); /* it is there already */
	T_CHECK(alive == 1);
	stock_put_back(s, i);
	T_CHECK(stock_find(s, 5) == i);
	T_CHECK(*(int *)stock_thing(i) == 5);
	stock_put_back(s, i);
	stock_put_back(s, i);
	stock_free(s);
	T_CHECK(alive == 0);
}

/* What is spoilt is there for those who have it, and for nobody else. */
static void
test_spoil(void)
{
	struct stock *s = new_stock(ROOM);
	struct stock_item *first, *second;
	struct err e;
	bool made;
	int key = 9;

	first = stock_get(s, 9, make_int, &key, &made, &e);
	second = stock_find(s, 9);
	T_CHECK(first == second);
	stock_spoil(s, first);
	T_CHECK(alive == 1);
	T_CHECK(stock_find(s, 9) == NULL);
	T_CHECK(made_now(s, 9));
	T_CHECK(alive == 2);
	T_CHECK(*(int *)stock_thing(second) == 9);
	stock_spoil(s, second);
	T_CHECK(alive == 1);
	T_CHECK(!made_now(s, 9));
	stock_free(s);
	T_CHECK(alive == 0);
}

/* Every thread wants all things, in another order each. */
static void *
want_all(void *arg)
{
	struct stock *s = arg;
	static _Atomic int number;
	int first = number++;
	struct err e;
	bool made, right = true;

	for (int k = 0; k < 16; k++) {
		int key = (first * 5 + k) % 16;
		struct stock_item *i = stock_get(s, (uint64_t)key, make_int, &key, &made, &e);
		right &= i != NULL ? *(int *)stock_thing(i) == key : failing && e.kind == ERR_IO;
		if (i != NULL)
			stock_put_back(s, i);
	}
	return right ? s : NULL;
}

static bool
many_threads(struct stock *s)
{
	pthread_t t[8];
	bool right = true;
	void *ok;

	for (int i = 0; i < 8; i++)
		if (pthread_create(&t[i], NULL, want_all, s) != 0)
			abort();
	for (int i = 0; i < 8; i++) {
		pthread_join(t[i], &ok);
		right &= ok != NULL;
	}
	return right;
}

static void
test_threads(void)
{
	struct stock *s = new_stock(32);

	makings = 0;
	T_CHECK(many_threads(s));
	T_CHECK(makings == 16);
	stock_free(s);
	s = new_stock(1);
	T_CHECK(many_threads(s));
	T_CHECK(alive <= 1);
	stock_free(s);
	T_CHECK(alive == 0);
}

static void
test_failure(void)
{
	struct stock *s = new_stock(32);

	failing = true;
	T_CHECK(many_threads(s));
	T_CHECK(stock_bytes(s) == 0);
	failing = false;
	T_CHECK(made_now(s, 3));
	T_CHECK(!made_now(s, 3));
	stock_free(s);
	T_CHECK(alive == 0);
}

/* One thread's data are damaged, another one's, which waits for it, are not. */
static _Atomic int entered;

static int
make_of(void *arg, struct stocked *out, struct err *e)
{
	const int *good = arg;

	entered++;
	usleep(100000);
	return *good != 0 ? make_int(arg, out, e) : err_set(e, ERR_FORMAT, "damaged");
}

static void *
want_good(void *arg)
{
	int good = 7;
	struct err e;
	bool made;

	while (entered == 0)
		usleep(1000);
	return stock_get(arg, 1, make_of, &good, &made, &e);
}

static void
test_damage_of_another(void)
{
	struct stock *s = new_stock(32);
	pthread_t t;
	int damaged = 0;
	struct err e;
	bool made;
	void *got;

	if (pthread_create(&t, NULL, want_good, s) != 0)
		abort();
	T_CHECK(stock_get(s, 1, make_of, &damaged, &made, &e) == NULL);
	T_CHECK(e.kind == ERR_FORMAT);
	pthread_join(t, &got);
	T_CHECK(got != NULL);
	if (got != NULL)
		stock_put_back(s, got);
	T_CHECK(entered == 2);
	stock_free(s);
	T_CHECK(alive == 0);
}

static _Atomic unsigned gets;

static struct stock_item *
get_counted(void *s, uint64_t key, struct err *e)
{
	int k = (int)key;
	bool made;

	gets++;
	return stock_get(s, key, make_int, &k, &made, e);
}

/* Have it got ahead, and wait for that. */
static void
want_and_wait(struct stock *s, struct stock_ahead *a, uint64_t key)
{
	stock_ahead_want(a, key);
	while (!stock_has(s, key))
		usleep(1000);
}

/* What is there is not got again. */
static void
test_ahead(void)
{
	struct stock *s = new_stock(ROOM);
	struct stock_ahead *a = stock_ahead_new(s, 1, 2, get_counted, s);

	T_CHECK(a != NULL && !stock_has(s, 1));
	want_and_wait(s, a, 1);
	want_and_wait(s, a, 2);
	stock_ahead_want(a, 1);
	want_and_wait(s, a, 3);
	stock_ahead_free(a);
	T_CHECK(gets == 3);
	T_CHECK(!made_now(s, 1) && !made_now(s, 3));
	stock_free(s);
	T_CHECK(alive == 0);
}

int
main(void)
{
	test_order();
	test_use();
	test_add();
	test_spoil();
	test_threads();
	test_failure();
	test_damage_of_another();
	test_ahead();
	return t_done();
}
