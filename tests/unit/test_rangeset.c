/* The range set against a bitmap: every operation, many small random sets; then
 * ten million ranges in the worst order, counting work and not time. */
#include "common/disk/rangeset.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/disk/range_sort.h"
#include "tests/random.h"
#include "tests/t.h"

enum { U = 96, SEEDS = 4000, MANY = 10000000 };

static struct err e;

/* The model: one flag a number. */
struct model {
	bool in[U];
};

static bool
same(const struct rangeset *s, const struct model *m)
{
	uint64_t total = 0, pos = 0, last_end = 0;

	for (size_t i = 0; i < rangeset_count(s); i++) {
		struct range x = rangeset_get(s, i);
		if (x.len == 0 || (i > 0 && x.off <= last_end) || !range_within(x, U))
			return false;
		last_end = range_end(x);
		for (; pos < x.off; pos++)
			if (m->in[pos])
				return false;
		for (; pos < last_end; pos++)
			if (!m->in[pos])
				return false;
		total += x.len;
	}
	for (; pos < U; pos++)
		if (m->in[pos])
			return false;
	for (uint64_t x = 0; x < U; x++) {
		size_t i = rangeset_find(s, x);
		if (rangeset_contains(s, x) != m->in[x])
			return false;
		if (i < s->n ? range_end(s->r[i]) <= x ||
				   (i > 0 && range_end(s->r[i - 1]) > x)
			     : s->n > 0 && last_end > x)
			return false;
	}
	return rangeset_total(s) == total;
}

static bool
fill(struct rangeset *s, struct model *m)
{
	memset(m, 0, sizeof *m);
	rangeset_init(s);
	for (uint64_t n = draw(24); n > 0; n--) {
		uint64_t off = draw(U), len = draw(U - off < 9 ? U - off + 1 : 9);
		if (rangeset_add(s, (struct range){ off, len }, &e) != 0)
			return false;
		memset(m->in + off, 1, len);
	}
	return true;
}

/* The same, sealed. */
static bool
fill_whole(struct rangeset *s, struct model *m)
{
	bool ok = fill(s, m);

	rangeset_seal(s);
	return ok;
}

/* What is changed next may be open. */
static bool
add_one(struct rangeset *s, struct model *m)
{
	uint64_t off = draw(U);

	m->in[off] = true;
	return rangeset_add(s, (struct range){ off, 1 }, &e) == 0;
}

static bool
drop_short(struct rangeset *s, struct model *m)
{
	uint64_t min = draw(6);

	for (size_t i = 0; i < U;) {
		size_t end = i;
		while (end < U && m->in[end] == m->in[i])
			end++;
		if (m->in[i] && end - i < min)
			memset(m->in + i, 0, end - i);
		i = end;
	}
	rangeset_drop_short(s, min);
	return true;
}

/* One random operation on both. */
static bool
step(struct rangeset *a, struct model *ma)
{
	struct rangeset b;
	struct model mb;
	uint64_t lo = draw(U), hi = lo + draw(U - lo + 1), op = draw(6);
	bool ok = fill_whole(&b, &mb) && (draw(2) == 0 || add_one(a, ma));

	if (op == 0)
		ok = ok && rangeset_union(a, &b, &e) == 0;
	else if (op == 1)
		ok = ok && rangeset_minus(a, &b, &e) == 0;
	else if (op == 2)
		ok = ok && rangeset_intersect(a, &b, &e) == 0;
	else if (op == 3)
		rangeset_clip(a, lo, hi);
	else if (op == 4)
		ok = ok && rangeset_invert(a, lo, hi, &e) == 0;
	else
		drop_short(a, ma);
	for (uint64_t i = 0; i < U; i++) {
		bool x = ma->in[i], y = mb.in[i], inside = i >= lo && i < hi;
		bool want[] = { x || y, x && !y, x && y, x && inside, !x && inside, x };
		ma->in[i] = want[op];
	}
	ok = ok && same(&b, &mb) && same(a, ma);
	rangeset_free(&b);
	return ok;
}

static void
test_model(void)
{
	uint64_t bad = 0;

	for (uint64_t n = 1; n <= SEEDS && bad == 0; n++) {
		struct rangeset a;
		struct model ma;
		draw_seed = n;
		bool ok = fill_whole(&a, &ma) && same(&a, &ma);
		for (int i = 0; i < 8 && ok; i++)
			ok = step(&a, &ma);
		rangeset_free(&a);
		if (!ok)
			bad = n;
	}
	if (bad != 0)
		printf("# first bad seed: %llu\n", (unsigned long long)bad);
	T_CHECK(bad == 0);
}

static void
test_edges(void)
{
	struct rangeset s;

	rangeset_init(&s);
	T_CHECK(rangeset_count(&s) == 0);
	T_CHECK(rangeset_total(&s) == 0);
	T_CHECK(!rangeset_contains(&s, 0));
	T_CHECK(rangeset_find(&s, 0) == 0);
	T_CHECK(rangeset_minus(&s, &s, &e) == 0);
	T_CHECK(rangeset_intersect(&s, &s, &e) == 0);
	T_CHECK(rangeset_invert(&s, 0, UINT64_MAX, &e) == 0);
	T_CHECK(s.n == 1);
	T_CHECK(rangeset_total(&s) == UINT64_MAX);
	T_CHECK(rangeset_contains(&s, UINT64_MAX - 1));
	T_CHECK(rangeset_union(&s, &s, &e) == 0);
	T_CHECK(rangeset_intersect(&s, &s, &e) == 0);
	T_CHECK(rangeset_total(&s) == UINT64_MAX);
	T_CHECK(rangeset_minus(&s, &s, &e) == 0);
	T_CHECK(rangeset_count(&s) == 0);
	rangeset_free(&s);
	rangeset_free(&s);
}

static bool
sorted(const struct range *r, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (r[i].off < r[i - 1].off)
			return false;
	return true;
}

/* Orders that are known to be bad for one quicksort or another. */
static uint64_t
order(int kind, size_t i, size_t n)
{
	switch (kind) {
	case 0:
		return i;
	case 1:
		return n - i;
	case 2:
		return 7;
	case 3:
		return i % 2;
	case 4:
		return i < n / 2 ? i : n - i; /* organ pipe */
	case 5:
		return i % 2 ? n - i : i;
	case 6:
		return (i * 0x9e3779b97f4a7c15ull) >> 20;
	default:
		return draw(n);
	}
}

static void
test_sort(void)
{
	static struct range r[60000];

	for (size_t n = 0; n < sizeof r / sizeof r[0]; n = n < 70 ? n + 1 : n * 3) {
		size_t log2 = 1;
		bool ok = true;
		while ((size_t)1 << log2 < n)
			log2++;
		for (int kind = 0; kind < 8; kind++) {
			uint64_t sum = 0, sum2 = 0;
			for (size_t i = 0; i < n; i++) {
				r[i] = (struct range){ order(kind, i, n), draw(1000) };
				sum += r[i].off * 3 + r[i].len * r[i].off;
			}
			size_t work = range_sort(r, n);
			for (size_t i = 0; i < n; i++)
				sum2 += r[i].off * 3 + r[i].len * r[i].off;
			ok = ok && sum == sum2 && sorted(r, n) &&
			     work <= 5 * n * log2 + 200;
		}
		T_CHECK(ok);
	}
}

/* A median-of-three killer, so that the heapsort is used. */
static void
test_killer(void)
{
	enum { N = 1 << 16, K = N / 2 };
	static struct range r[N];

	for (size_t i = 1; i <= K; i++) {
		r[i - 1].off = i % 2 ? i : K + i - 1;
		r[K + i - 1].off = 2 * i;
	}
	T_CHECK(range_sort(r, N) <= 5ul * N * 16);
	T_CHECK(sorted(r, N));
}

static void
test_many(void)
{
	struct rangeset a, b;
	bool ok = true;

	rangeset_init(&a);
	rangeset_init(&b);
	/* Prime to MANY: each range once, far from sorted. */
	for (uint64_t i = 0; i < MANY && ok; i++)
		ok = rangeset_add(
			 &a, (struct range){ i * 6180339 % MANY * 4, 3 }, &e) == 0;
	T_CHECK(ok);
	T_CHECK(a.unsorted);
	T_CHECK(a.n == MANY);
	T_CHECK(a.cap <= MANY * 3ull / 2);
	rangeset_seal(&a);
	T_CHECK(rangeset_count(&a) == MANY);
	T_CHECK(rangeset_total(&a) == 3ull * MANY);
	size_t cap = a.cap;
	T_CHECK(rangeset_invert(&a, 0, 4ull * MANY, &e) == 0);
	T_CHECK(a.cap == cap);
	T_CHECK(rangeset_count(&a) == MANY);
	T_CHECK(rangeset_total(&a) == MANY);
	/* In order: never sorted. */
	for (uint64_t i = 0; i < MANY / 10 && ok; i++)
		ok = rangeset_add(&b, (struct range){ i * 40 + 2, 4 }, &e) == 0;
	T_CHECK(ok);
	T_CHECK(!b.unsorted);
	T_CHECK(b.n == MANY / 10);
	rangeset_seal(&b);
	T_CHECK(rangeset_minus(&a, &b, &e) == 0);
	T_CHECK(rangeset_count(&a) == MANY / 10 * 9);
	T_CHECK(rangeset_union(&a, &b, &e) == 0);
	T_CHECK(rangeset_total(&a) == MANY / 10 * 13ull);
	rangeset_free(&a);
	rangeset_free(&b);
}

static void
test_parts(void)
{
	struct rangeset a, b;

	rangeset_init(&a);
	rangeset_init(&b);
	T_CHECK(!rangeset_touches(&a, (struct range){ 0, 100 }));
	T_CHECK(rangeset_add(&a, (struct range){ 10, 5 }, &e) == 0);
	T_CHECK(rangeset_add(&a, (struct range){ 20, 5 }, &e) == 0);
	rangeset_seal(&a);
	T_CHECK(!rangeset_touches(&a, (struct range){ 0, 10 }));
	T_CHECK(rangeset_touches(&a, (struct range){ 0, 11 }));
	T_CHECK(rangeset_touches(&a, (struct range){ 14, 1 }));
	T_CHECK(!rangeset_touches(&a, (struct range){ 15, 5 }));
	T_CHECK(!rangeset_touches(&a, (struct range){ 25, 5 }));
	T_CHECK(rangeset_total_in(&a, (struct range){ 0, 10 }) == 0);
	T_CHECK(rangeset_total_in(&a, (struct range){ 12, 10 }) == 5);
	T_CHECK(rangeset_total_in(&a, (struct range){ 0, 100 }) == 10);
	T_CHECK(rangeset_add(&b, (struct range){ 0, 12 }, &e) == 0);
	T_CHECK(rangeset_add_shifted(&b, &a, 2, &e) == 0);
	rangeset_seal(&b);
	T_CHECK(rangeset_count(&b) == 2);
	T_CHECK(rangeset_get(&b, 0).len == 17);
	T_CHECK(rangeset_get(&b, 1).off == 22);
	rangeset_free(&a);
	rangeset_free(&b);
}

static void
read_total(const struct rangeset *s)
{
	rangeset_total(s);
}

static void
read_find(const struct rangeset *s)
{
	rangeset_find(s, 3);
}

static void
read_as_second(const struct rangeset *s)
{
	struct rangeset a;

	rangeset_init(&a);
	rangeset_union(&a, s, &e);
}

static bool
aborts(void (*reader)(const struct rangeset *), const struct rangeset *s)
{
	int status = 0;

	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		close(STDERR_FILENO); /* of the assertion */
		reader(s);
		_exit(0);
	}
	return waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) &&
	       WTERMSIG(status) == SIGABRT;
}

/* A seal that is missing shows, also where the ranges came in order. */
static void
test_open(void)
{
	struct rangeset s;

	rangeset_init(&s);
	T_CHECK(!aborts(read_total, &s));
	T_CHECK(rangeset_add(&s, (struct range){ 3, 2 }, &e) == 0);
	T_CHECK(aborts(read_total, &s));
	T_CHECK(aborts(read_find, &s));
	T_CHECK(aborts(read_as_second, &s));
	rangeset_seal(&s);
	T_CHECK(!aborts(read_total, &s));
	T_CHECK(!aborts(read_find, &s));
	T_CHECK(!aborts(read_as_second, &s));
	rangeset_free(&s);
}

int
main(void)
{
	test_model();
	test_edges();
	test_sort();
	test_killer();
	test_many();
	test_parts();
	test_open();
	return t_done();
}
