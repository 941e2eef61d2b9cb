/* range_sort.c: introsort: quicksort on the median of three, heapsort where that
 * degenerates, insertion sort for short parts.  rangeset.c calls this when it seals a set,
 * in its caller's thread. */
#include "common/disk/range_sort.h"

enum { SHORT = 16 };

struct sorter {
	struct range *r;
	size_t compared;
};

static bool
less(struct sorter *s, uint64_t a, uint64_t b)
{
	s->compared++;
	return a < b;
}

static void
swap(struct sorter *s, size_t i, size_t j)
{
	struct range t = s->r[i];

	s->r[i] = s->r[j];
	s->r[j] = t;
}

static void
insertion(struct sorter *s, size_t lo, size_t hi)
{
	for (size_t i = lo + 1; i < hi; i++) {
		struct range x = s->r[i];
		size_t j = i;
		for (; j > lo && less(s, x.off, s->r[j - 1].off); j--)
			s->r[j] = s->r[j - 1];
		s->r[j] = x;
	}
}

/* Let element i of the heap of n at lo sink to where it belongs. */
static void
sift(struct sorter *s, size_t lo, size_t n, size_t i)
{
	struct range x = s->r[lo + i];
	size_t child;

	while ((child = 2 * i + 1) < n) {
		if (child + 1 < n &&
		    less(s, s->r[lo + child].off, s->r[lo + child + 1].off))
			child++;
		if (!less(s, x.off, s->r[lo + child].off))
			break;
		s->r[lo + i] = s->r[lo + child];
		i = child;
	}
	s->r[lo + i] = x;
}

static void
heapsort(struct sorter *s, size_t lo, size_t hi)
{
	size_t n = hi - lo;

	for (size_t i = n / 2; i-- > 0;)
		sift(s, lo, n, i);
	while (n > 1) {
		swap(s, lo, lo + --n);
		sift(s, lo, n, 0);
	}
}

/* The median of the first, the middle and the last value. */
static uint64_t
pivot(struct sorter *s, size_t lo, size_t hi)
{
	uint64_t a = s->r[lo].off, b = s->r[lo + (hi - lo) / 2].off,
		 c = s->r[hi - 1].off;

	if (less(s, b, a)) {
		uint64_t t = a;
		a = b;
		b = t;
	}
	if (less(s, c, a))
		return a;
	return less(s, c, b) ? c : b;
}

/* Hoare's scheme: returns m with lo < m < hi, [lo, m) <= pivot <= [m, hi). */
static size_t
partition(struct sorter *s, size_t lo, size_t hi)
{
	uint64_t p = pivot(s, lo, hi);
	size_t i = lo, j = hi - 1;

	for (;;) {
		while (less(s, s->r[i].off, p))
			i++;
		while (less(s, p, s->r[j].off))
			j--;
		if (i >= j)
			return i > lo ? i : lo + 1;
		swap(s, i++, j--);
	}
}

static void
introsort(struct sorter *s, size_t lo, size_t hi, unsigned depth)
{
	while (hi - lo > SHORT) {
		if (depth-- == 0) {
			heapsort(s, lo, hi);
			return;
		}
		size_t m = partition(s, lo, hi);
		introsort(s, m, hi, depth);
		hi = m;
	}
	insertion(s, lo, hi);
}

size_t
range_sort(struct range *r, size_t n)
{
	struct sorter s = { .r = r };
	unsigned depth = 0;

	for (size_t left = n; left > 1; left /= 2)
		depth += 2;
	if (n > 1)
		introsort(&s, 0, n, depth);
	return s.compared;
}
