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

static struct range
run_at(const struct order *o, size_t i)
{
	return (struct range){ o->runs[i].first_sector, o->runs[i].sectors };
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

static void
next_run(struct fill_order *f)
{
	f->next++;
	f->given = 0;
}

/* Append runs that lie behind r on the disk, and whose sectors are absent, as long as
 * the order has them next. */
static int
append_next(struct fill_order *f, struct streamed *d, struct range *r, struct err *e)
{
	for (; fill_order_left(f); next_run(f)) {
		struct range more = run_at(f->order, f->next), front = more;
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
	for (; fill_order_left(f); next_run(f)) {
		const struct range run = run_at(f->order, f->next);
		*r = (struct range){ run.off + f->given, run.len - f->given };
		if (first_absent(d, r, e) != 0)
			return -1;
		if (r->len == 0)
			continue;
		if (r->len > FILL_ORDER_SECTORS)
			r->len = FILL_ORDER_SECTORS;
		f->given = range_end(*r) - run.off;
		if (f->given < run.len)
			return 0;
		next_run(f);
		return append_next(f, d, r, e);
	}
	*r = (struct range){ 0, 0 };
	return 0;
}
