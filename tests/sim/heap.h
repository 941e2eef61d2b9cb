/* heap.h: what comes next in virtual time: a heap of items by their times, and of equal times in
 * the order in which they were added.  It knows no engine; an item is a member of what it stands
 * for. */
#ifndef TESTS_SIM_HEAP_H
#define TESTS_SIM_HEAP_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct heap_item {
	uint64_t time, number; /* its number is how many items were added before it */
	size_t at;             /* its place in the heap */
};

/* All zeros: an empty one. */
struct heap {
	struct heap_item **items; /* the first one is the next; they are the user's */
	size_t n, room;
	uint64_t added;
};

static inline bool
heap_is_before(const struct heap_item *a, const struct heap_item *b)
{
	return a->time < b->time || (a->time == b->time && a->number < b->number);
}

static inline void
heap_place(struct heap *h, size_t at, struct heap_item *x)
{
	h->items[at] = x;
	x->at = at;
}

/* Puts an item where it belongs; it may be put at this place. */
static inline void
heap_settle(struct heap *h, size_t i, struct heap_item *x)
{
	for (; i > 0 && heap_is_before(x, h->items[(i - 1) / 2]); i = (i - 1) / 2)
		heap_place(h, i, h->items[(i - 1) / 2]);
	for (size_t child; (child = 2 * i + 1) < h->n; i = child) {
		if (child + 1 < h->n && heap_is_before(h->items[child + 1], h->items[child]))
			child++;
		if (!heap_is_before(h->items[child], x))
			break;
		heap_place(h, i, h->items[child]);
	}
	heap_place(h, i, x);
}

static inline void
heap_add(struct heap *h, struct heap_item *x, uint64_t time)
{
	if (h->n == h->room) {
		h->room = 2 * h->room + 64;
		h->items = realloc(h->items, h->room * sizeof(struct heap_item *));
		assert(h->items != NULL);
	}
	x->time = time;
	x->number = h->added++;
	h->n++;
	heap_settle(h, h->n - 1, x);
}

/* Gives an item of the heap another time. */
static inline void
heap_move(struct heap *h, struct heap_item *x, uint64_t time)
{
	x->time = time;
	heap_settle(h, x->at, x);
}

/* Takes the next item out; there must be one. */
static inline struct heap_item *
heap_take(struct heap *h)
{
	struct heap_item *next = h->items[0], *last = h->items[--h->n];

	if (h->n > 0)
		heap_settle(h, 0, last);
	return next;
}

#endif /* TESTS_SIM_HEAP_H */
