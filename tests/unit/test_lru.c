/* A table that forgets: against a slow one that is surely right. */
#include "common/base/lru.h"

#include <string.h>

#include "tests/random.h"
#include "tests/t.h"

enum { MAX = 7, KEYS = 12 };

struct plain {
	uint64_t key, touched;
	bool used, protected;
};

static struct lru l;
static struct plain plain[MAX];
static uint64_t now;

static uint32_t
find(uint64_t key)
{
	uint32_t i = lru_first(&l, key);

	while (i != LRU_NONE && plain[i].key != key)
		i = lru_next(&l, i);
	return i;
}

/* Who has to go, by looking at all of them. */
static uint32_t
victim(void)
{
	uint32_t v = LRU_NONE;

	for (uint32_t i = 0; i < MAX; i++) {
		if (!plain[i].used)
			return LRU_NONE;
		if (v == LRU_NONE || plain[i].protected < plain[v].protected ||
		    (plain[i].protected == plain[v].protected &&
			plain[i].touched < plain[v].touched))
			v = i;
	}
	return v;
}

static bool
add(uint64_t key)
{
	uint32_t expected = victim();
	bool old, was_free[MAX];

	for (uint32_t i = 0; i < MAX; i++)
		was_free[i] = !plain[i].used;
	uint32_t i = lru_add(&l, key, &old);
	bool right = i < MAX && old == (expected != LRU_NONE) &&
	             (old ? i == expected : was_free[i]);
	plain[i] = (struct plain){ .key = key, .touched = ++now, .used = true };
	return right;
}

/* Each list has those of its class, in order, and each key finds its own. */
static bool
agrees(void)
{
	uint32_t listed = 0, used = 0;

	for (int protected = 0; protected < 2; protected++) {
		uint64_t last = UINT64_MAX;
		for (uint32_t i = lru_newest(&l, protected); i != LRU_NONE;
		     i = lru_older(&l, i), listed++) {
			if (!plain[i].used || plain[i].protected != protected ||
			    plain[i].touched >= last)
				return false;
			last = plain[i].touched;
		}
	}
	for (uint32_t i = 0; i < MAX; i++) {
		used += plain[i].used;
		if (plain[i].used && find(plain[i].key) != i)
			return false;
	}
	return listed == used && l.n == used;
}

static void
test_random(void)
{
	bool right = true;

	T_CHECK(lru_init(&l, MAX, 99) == 0);
	T_CHECK(agrees());
	for (int k = 0; k < 200000 && right; k++) {
		uint64_t key = draw(KEYS);
		uint32_t i = find(key);
		if (i == LRU_NONE) {
			right = add(key);
		} else if (draw(3) == 0) {
			lru_remove(&l, i);
			plain[i].used = false;
			plain[i].key = UINT64_MAX;
		} else {
			bool protected = draw(4) == 0;
			lru_touch(&l, i, protected);
			plain[i].protected |= protected;
			plain[i].touched = ++now;
		}
		right = right && agrees();
	}
	T_CHECK(right);
	lru_fini(&l);
}

static void
test_same_key(void)
{
	bool old;

	T_CHECK(lru_init(&l, 1000, 5) == 0);
	uint32_t n = 0, first = lru_add(&l, 42, &old);
	for (int i = 0; i < 9; i++)
		lru_add(&l, 42, &old);
	for (uint32_t i = lru_first(&l, 42); i != LRU_NONE; i = lru_next(&l, i))
		if (++n == 10)
			T_CHECK(i == first);
	T_CHECK(n == 10);
	lru_fini(&l);
}

int
main(void)
{
	test_random();
	test_same_key();
	return t_done();
}
