/* Maps of image sectors to a target: where each goes, both ways, what is cut, and which lists
 * are refused. */
#include "common/disk/maps.h"

#include <string.h>

#include "tests/random.h"
#include "tests/t.h"

static struct maps
made(const struct map *m, unsigned n)
{
	struct maps s = { .n = 0 };
	struct err e;

	for (unsigned i = 0; i < n; i++)
		T_CHECK(maps_add(&s, m[i].from, m[i].to, &e) == 0);
	return s;
}

static bool
runs(const struct maps *s, struct range r, uint64_t n, uint64_t to)
{
	uint64_t is;

	return maps_run(s, r, &is) == n && is == to;
}

static bool
comes(const struct maps *s, struct range r, uint64_t n, uint64_t from)
{
	uint64_t is;

	return maps_back(s, r, &is) == n && is == from;
}

static void
test_one(void)
{
	struct maps all = maps_one((struct range){ 0, UINT64_MAX });
	struct maps part = maps_one((struct range){ 100, 50 });
	struct maps none = maps_one((struct range){ 0, 0 });
	uint64_t to;

	T_CHECK(runs(&all, (struct range){ 0, 1 }, 1, 0));
	T_CHECK(runs(&all, (struct range){ 1 << 30, 77 }, 77, 1 << 30));
	T_CHECK(runs(&all, (struct range){ UINT64_MAX - 1, 1 }, 1, UINT64_MAX - 1));
	T_CHECK(runs(&part, (struct range){ 0, 99 }, 99, MAPS_NOWHERE));
	T_CHECK(runs(&part, (struct range){ 0, 101 }, 100, MAPS_NOWHERE));
	T_CHECK(runs(&part, (struct range){ 99, 2 }, 1, MAPS_NOWHERE));
	T_CHECK(runs(&part, (struct range){ 100, 1 }, 1, 0));
	T_CHECK(runs(&part, (struct range){ 100, 51 }, 50, 0));
	T_CHECK(runs(&part, (struct range){ 149, 9 }, 1, 49));
	T_CHECK(runs(&part, (struct range){ 150, 9 }, 9, MAPS_NOWHERE));
	T_CHECK(runs(&none, (struct range){ 0, 9 }, 9, MAPS_NOWHERE));
	T_CHECK(maps_whole(&part, (struct range){ 100, 50 }, &to) && to == 0);
	T_CHECK(maps_whole(&part, (struct range){ 149, 1 }, &to) && to == 49);
	T_CHECK(!maps_whole(&part, (struct range){ 99, 2 }, &to));
	T_CHECK(!maps_whole(&part, (struct range){ 149, 2 }, &to));
	T_CHECK(!maps_whole(&part, (struct range){ 150, 2 }, &to));
}

/* A gap of the image, and a piece that is moved behind everything. */
static const struct map list[] = { { { 0, 90 }, 0 }, { { 90, 5 }, 190 },
	{ { 97, 3 }, 97 } };

static void
test_gaps(void)
{
	struct maps s = made(list, 3);

	T_CHECK(runs(&s, (struct range){ 80, 40 }, 10, 80));
	T_CHECK(runs(&s, (struct range){ 90, 30 }, 5, 190));
	T_CHECK(runs(&s, (struct range){ 94, 1 }, 1, 194));
	T_CHECK(runs(&s, (struct range){ 95, 25 }, 2, MAPS_NOWHERE));
	T_CHECK(runs(&s, (struct range){ 97, 23 }, 3, 97));
	T_CHECK(runs(&s, (struct range){ 100, 20 }, 20, MAPS_NOWHERE));
}

static void
test_back(void)
{
	struct maps s = made(list, 3);

	T_CHECK(comes(&s, (struct range){ 0, 200 }, 90, 0));
	T_CHECK(comes(&s, (struct range){ 89, 9 }, 1, 89));
	T_CHECK(comes(&s, (struct range){ 90, 9 }, 7, MAPS_NOWHERE));
	T_CHECK(comes(&s, (struct range){ 98, 9 }, 2, 98));
	T_CHECK(comes(&s, (struct range){ 100, 200 }, 90, MAPS_NOWHERE));
	T_CHECK(comes(&s, (struct range){ 192, 200 }, 3, 92));
	T_CHECK(comes(&s, (struct range){ 195, 200 }, 200, MAPS_NOWHERE));
}

static void
test_refused(void)
{
	struct maps s = made((const struct map[]){ { { 10, 10 }, 1000 } }, 1);
	struct err e;

	T_CHECK(maps_add(&s, (struct range){ 19, 1 }, 0, &e) == -1 &&
	        e.kind == ERR_REFUSED);
	T_CHECK(maps_add(&s, (struct range){ 0, 11 }, 0, &e) == -1);
	T_CHECK(maps_add(&s, (struct range){ 20, 5 }, 1009, &e) == -1);
	T_CHECK(maps_add(&s, (struct range){ 20, 5 }, 996, &e) == -1);
	T_CHECK(maps_add(&s, (struct range){ 5, 100 }, 5000, &e) == -1);
	T_CHECK(s.n == 1);
	T_CHECK(maps_add(&s, (struct range){ 20, 5 }, 1010, &e) == 0);
	T_CHECK(maps_add(&s, (struct range){ 0, 10 }, 990, &e) == 0);
	T_CHECK(maps_add(&s, (struct range){ 15, 0 }, 1005, &e) == 0 && s.n == 3);
	T_CHECK(runs(&s, (struct range){ 9, 9 }, 1, 999));
	T_CHECK(runs(&s, (struct range){ 20, 9 }, 5, 1010));
}

static void
test_numbers(void)
{
	struct maps s = { .n = 0 };
	struct err e;

	T_CHECK(maps_add(&s, (struct range){ 2, UINT64_MAX - 1 }, 0, &e) == -1 &&
	        e.kind == ERR_FORMAT);
	T_CHECK(maps_add(&s, (struct range){ 0, 2 }, UINT64_MAX - 1, &e) == -1);
	T_CHECK(maps_add(&s, (struct range){ UINT64_MAX - 1, 1 }, 0, &e) == 0);
	T_CHECK(maps_add(&s, (struct range){ 0, 1 }, UINT64_MAX - 1, &e) == 0);
	T_CHECK(runs(&s, (struct range){ UINT64_MAX - 1, 1 }, 1, 0));
	T_CHECK(runs(&s, (struct range){ UINT64_MAX - 2, 2 }, 1, MAPS_NOWHERE));
	T_CHECK(comes(&s, (struct range){ UINT64_MAX - 1, 1 }, 1, 0));
	for (unsigned i = s.n; i < MAPS_MAX; i++)
		T_CHECK(maps_add(&s, (struct range){ 2 * i, 1 }, 2 * i, &e) == 0);
	T_CHECK(maps_add(&s, (struct range){ 5000, 1 }, 5000, &e) == -1 &&
	        e.kind == ERR_FORMAT);
}

/* Lists by chance, against a table with a number for each sector. */
static void
test_table(void)
{
	enum { SECTORS = 64, LISTS = 200, TRIES = 12 };
	struct err e;

	for (unsigned l = 0; l < LISTS; l++) {
		struct maps s = { .n = 0 };
		uint64_t to[SECTORS], from[SECTORS], at;
		memset(to, 0xff, sizeof to);
		memset(from, 0xff, sizeof from);
		for (unsigned t = 0; t < TRIES; t++) {
			struct range f = { draw(50), draw(14) };
			uint64_t place = draw(50);
			bool free = true;
			for (unsigned i = 0; i < f.len; i++)
				free &= to[f.off + i] == MAPS_NOWHERE &&
				        from[place + i] == MAPS_NOWHERE;
			T_CHECK((maps_add(&s, f, place, &e) == 0) == free);
			for (unsigned i = 0; free && i < f.len; i++) {
				to[f.off + i] = place + i;
				from[place + i] = f.off + i;
			}
		}
		for (uint64_t i = 0; i < SECTORS; i++) {
			T_CHECK(maps_run(&s, (struct range){ i, 1 }, &at) == 1 && at == to[i]);
			T_CHECK(maps_back(&s, (struct range){ i, 1 }, &at) == 1 &&
			        at == from[i]);
		}
	}
}

int
main(void)
{
	test_one();
	test_gaps();
	test_back();
	test_refused();
	test_numbers();
	test_table();
	return t_done();
}
