/* rangeset.c: a set of numbers as sorted ranges.
 *
 * Everything that captures, reads or installs images calls it, in any thread.  Readers
 * assert that the set was sealed, so a seal that is missing shows at the first reading,
 * whatever order the ranges came in. */
#include "common/disk/rangeset.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/bisect.h"
#include "common/disk/range_sort.h"

enum { FIRST_CAP = 16 };

void
rangeset_init(struct rangeset *s)
{
	*s = (struct rangeset){ 0 };
}

void
rangeset_free(struct rangeset *s)
{
	free(s->r);
	rangeset_init(s);
}

/* Make room for exactly `want` ranges. */
static int
reserve(struct rangeset *s, size_t want, struct err *e)
{
	if (want <= s->cap)
		return 0;
	struct range *r = reallocarray(s->r, want, sizeof *r);
	if (r == NULL)
		return err_nomem(e, "list of ranges");
	s->r = r;
	s->cap = want;
	return 0;
}

/* Make room for one more range.  The array grows by a half, so that n additions cost O(n). */
static int
reserve_one(struct rangeset *s, struct err *e)
{
	if (s->n < s->cap)
		return 0;
	return reserve(s, s->cap < FIRST_CAP ? FIRST_CAP : s->cap + s->cap / 2, e);
}

/* Let the last range of r[0..n) reach at least as far as x, or append x; returns the new n.
 * x must not start before the last range does. */
static size_t
append(struct range *r, size_t n, struct range x)
{
	if (n == 0 || x.off > range_end(r[n - 1])) {
		r[n] = x;
		return n + 1;
	}
	if (range_end(x) > range_end(r[n - 1]))
		r[n - 1].len = range_end(x) - r[n - 1].off;
	return n;
}

int
rangeset_add(struct rangeset *s, struct range x, struct err *e)
{
	assert(range_within(x, UINT64_MAX));
	s->open = true;
	if (x.len == 0)
		return 0;
	if (reserve_one(s, e) != 0)
		return -1;
	if (s->n != 0 && x.off < s->r[s->n - 1].off) {
		s->r[s->n++] = x;
		s->unsorted = true;
	} else {
		s->n = append(s->r, s->n, x);
	}
	return 0;
}

/* Merge sorted ranges that overlap or touch. */
static void
squeeze(struct rangeset *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		n = append(s->r, n, s->r[i]);
	s->n = n;
}

void
rangeset_seal(struct rangeset *s)
{
	if (s->unsorted) {
		range_sort(s->r, s->n);
		squeeze(s);
	}
	s->unsorted = false;
	s->open = false;
}

size_t
rangeset_count(const struct rangeset *s)
{
	assert(!s->open);
	return s->n;
}

struct range
rangeset_get(const struct rangeset *s, size_t i)
{
	assert(!s->open);
	assert(i < s->n);
	return s->r[i];
}

uint64_t
rangeset_total(const struct rangeset *s)
{
	uint64_t sum = 0;

	assert(!s->open);
	for (size_t i = 0; i < s->n; i++)
		sum += s->r[i].len;
	return sum;
}

static bool
ends_at_most(const void *set, size_t i, uint64_t x)
{
	const struct rangeset *s = set;

	return range_end(s->r[i]) <= x;
}

size_t
rangeset_find(const struct rangeset *s, uint64_t x)
{
	assert(!s->open);
	return bisect(s->n, s, x, ends_at_most);
}

bool
rangeset_contains(const struct rangeset *s, uint64_t x)
{
	size_t i = rangeset_find(s, x);

	return i < s->n && s->r[i].off <= x;
}

bool
rangeset_touches(const struct rangeset *s, struct range r)
{
	size_t i = rangeset_find(s, r.off);

	return i < rangeset_count(s) && rangeset_get(s, i).off < range_end(r);
}

uint64_t
rangeset_total_in(const struct rangeset *s, struct range r)
{
	uint64_t n = 0;

	for (size_t i = rangeset_find(s, r.off); i < rangeset_count(s); i++) {
		struct range part = range_clip(
		    rangeset_get(s, i), r.off, range_end(r));
		if (part.len == 0)
			break;
		n += part.len;
	}
	return n;
}

int
rangeset_add_shifted(
    struct rangeset *to, const struct rangeset *from, uint64_t by, struct err *e)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < rangeset_count(from); i++) {
		struct range r = rangeset_get(from, i);
		rc = rangeset_add(to, (struct range){ r.off + by, r.len }, e);
	}
	return rc;
}

int
rangeset_union(struct rangeset *a, const struct rangeset *b, struct err *e)
{
	rangeset_seal(a);
	assert(!b->open);
	if (a == b)
		return 0;
	if (reserve(a, a->n + b->n, e) != 0)
		return -1;
	/* Merge from the far end, so that a needs no second array. */
	size_t i = a->n, j = b->n;
	while (j > 0) {
		if (i > 0 && a->r[i - 1].off > b->r[j - 1].off) {
			a->r[i + j - 1] = a->r[i - 1];
			i--;
		} else {
			a->r[i + j - 1] = b->r[j - 1];
			j--;
		}
	}
	a->n += b->n;
	squeeze(a);
	return 0;
}

/* Move a's ranges up by m, to be read from there while the result is written from the
 * front; NULL when there is no memory.  The result grows by at most one range for each
 * range of a or b that was read, and b has at most m, so the result never overwrites a
 * range that is still to be read. */
static const struct range *
move_up(struct rangeset *a, size_t m, struct err *e)
{
	/* An empty set may have no array at all; NULL is for failure only. */
	if (reserve(a, a->n + m + 1, e) != 0)
		return NULL;
	return memmove(a->r + m, a->r, a->n * sizeof *a->r);
}

int
rangeset_minus(struct rangeset *a, const struct rangeset *b, struct err *e)
{
	const struct range *in;
	size_t n = 0, j = 0;

	rangeset_seal(a);
	assert(!b->open);
	if (a == b) {
		a->n = 0;
		return 0;
	}
	if ((in = move_up(a, b->n, e)) == NULL)
		return -1;
	for (size_t i = 0; i < a->n; i++) {
		uint64_t pos = in[i].off, end = range_end(in[i]);
		while (j < b->n && range_end(b->r[j]) <= pos)
			j++;
		for (; j < b->n && b->r[j].off < end; j++) {
			if (b->r[j].off > pos)
				a->r[n++] = (struct range){ pos, b->r[j].off - pos };
			pos = range_end(b->r[j]);
			if (pos >= end)
				break; /* it may cover the next range of a, too */
		}
		if (pos < end)
			a->r[n++] = (struct range){ pos, end - pos };
	}
	a->n = n;
	return 0;
}

int
rangeset_intersect(struct rangeset *a, const struct rangeset *b, struct err *e)
{
	const struct range *in;
	size_t n = 0, i = 0, j = 0;

	rangeset_seal(a);
	assert(!b->open);
	if (a == b)
		return 0;
	if ((in = move_up(a, b->n, e)) == NULL)
		return -1;
	while (i < a->n && j < b->n) {
		uint64_t aend = range_end(in[i]), bend = range_end(b->r[j]);
		struct range both = range_clip(in[i], b->r[j].off, bend);
		if (aend < bend)
			i++;
		else
			j++;
		if (both.len != 0)
			a->r[n++] = both;
	}
	a->n = n;
	return 0;
}

void
rangeset_clip(struct rangeset *s, uint64_t lo, uint64_t hi)
{
	size_t n = 0;

	rangeset_seal(s);
	for (size_t i = 0; i < s->n; i++) {
		struct range x = range_clip(s->r[i], lo, hi);
		if (x.len != 0)
			s->r[n++] = x;
	}
	s->n = n;
}

int
rangeset_invert(struct rangeset *s, uint64_t lo, uint64_t hi, struct err *e)
{
	uint64_t pos = lo;
	size_t n = 0;

	assert(lo <= hi);
	rangeset_clip(s, lo, hi);
	if (reserve(s, s->n + 1, e) != 0)
		return -1;
	for (size_t i = 0; i < s->n; i++) {
		struct range x = s->r[i];
		if (x.off > pos)
			s->r[n++] = (struct range){ pos, x.off - pos };
		pos = range_end(x);
	}
	if (pos < hi)
		s->r[n++] = (struct range){ pos, hi - pos };
	s->n = n;
	return 0;
}

void
rangeset_drop_short(struct rangeset *s, uint64_t min)
{
	size_t n = 0;

	rangeset_seal(s);
	for (size_t i = 0; i < s->n; i++)
		if (s->r[i].len >= min)
			s->r[n++] = s->r[i];
	s->n = n;
}
