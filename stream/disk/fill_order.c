/* fill_order.c: goes through an order of reads, and finds what of it is absent.  fill_ahead.c
 * calls this, in one of its threads at a time. */
#include "stream/disk/fill_order.h"

#include "common/image/format/order.h"
#include "stream/disk/streamed_impl.h"

bool
fill_order_left(const struct fill_order *f)
{
	return f->order != NULL && f->next < f->order->n;
}

/* The sectors of the disk for what is left of the next run, as many as lie side by side there; *n: how
 * many of the order's these are.  Length 0: they are not on the disk. */
static struct range
next_sectors(const struct fill_order *f, const struct streamed *d, uint64_t *n)
{
	uint64_t sectors = f->order->runs[f->next].sectors, to;
	uint64_t first = f->order->runs[f->next].first_sector;

	*n = maps_run(&d->maps, (struct range){ first + f->given, sectors - f->given }, &to);
	return to == MAPS_NOWHERE ? (struct range){ 0, 0 } : (struct range){ to, *n };
}

/* Note that n more sectors of the next run were given out. */
static void
give(struct fill_order *f, uint64_t n)
{
	f->given += n;
	if (f->given < f->order->runs[f->next].sectors)
		return;
	f->next++;
	f->given = 0;
}

/* Reduce r to its first absent sectors; length 0: none is absent. */
static int
first_absent(struct streamed *d, struct range *r, struct err *e)
{
	bool absent;

	for (uint64_t n; r->len > 0; *r = (struct range){ r->off + n, r->len - n }) {
		if (streamed_absent_run(d, *r, &absent, &n, e) != 0)
			return -1;
		if (absent) {
			r->len = n;
			break;
		}
	}
	return 0;
}

/* Append runs that lie behind r on the disk, and whose sectors are absent, as long as
 * the order has them next. */
static int
append_next(struct fill_order *f, struct streamed *d, struct range *r, struct err *e)
{
	for (uint64_t n; fill_order_left(f); give(f, n)) {
		struct range more = next_sectors(f, d, &n), front = more;
		if (more.off != range_end(*r) || r->len + more.len > FILL_ORDER_SECTORS)
			break;
		if (first_absent(d, &front, e) != 0)
			return -1;
		if (front.off != more.off || front.len != more.len)
			break;
		r->len += more.len;
	}
	return 0;
}

int
fill_order_next(
    struct fill_order *f, struct streamed *d, struct range *r, struct err *e)
{
	for (uint64_t n; fill_order_left(f);) {
		const struct range left = next_sectors(f, d, &n);
		*r = left;
		if (first_absent(d, r, e) != 0)
			return -1;
		if (r->len == 0) {
			give(f, n);
			continue;
		}
		if (r->len > FILL_ORDER_SECTORS)
			r->len = FILL_ORDER_SECTORS;
		give(f, range_end(*r) - left.off);
		return f->given > 0 ? 0 : append_next(f, d, r, e);
	}
	*r = (struct range){ 0, 0 };
	return 0;
}
