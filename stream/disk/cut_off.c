/* cut_off.c: goes on with a disk whose table was not closed: its server was killed, or the power was
 * cut.  streamed_open.c calls this in one thread, before anybody uses the disk.
 *
 * A write to sectors that were fetched before may then be on the disk without a mark that says that
 * they were written locally.  Which ones these are nobody knows, so all that is present gets that
 * mark.  The table stays open meanwhile: if the power is cut again, this begins anew.
 *
 * Marks of a server that was killed are taken over first: what it has answered is then present.  What it
 * was asked and had not answered, its client asks again. */
#include "stream/disk/streamed_impl.h"

/* The mark is one for each piece of the table. */
static int
mark_pieces(struct streamed *d, struct range r, struct err *e)
{
	for (uint64_t n; r.len > 0; r = (struct range){ r.off + n, r.len - n }) {
		uint64_t left = PIECE_BITS - r.off % PIECE_BITS;
		n = r.len < left ? r.len : left;
		if (streamed_make_room(d, e) != 0 ||
		    table_mark(d->table, (struct range){ r.off, 1 }, true, e) != 0)
			return -1;
	}
	return 0;
}

static int
take_over(void *arg, struct range r, bool local, struct err *e)
{
	struct streamed *d = arg;

	image_view_written(&d->view, r);
	return streamed_make_room(d, e) == 0 ? streamed_mark(d, r, local, e) : -1;
}

int
cut_off_goes_on(struct streamed *d, struct err *e)
{
	bool marks = d->marks != NULL && marks_were_there(d->marks);

	if (marks ? marks_each(d->marks, take_over, d, e) != 0
	          : table_leave_marks(d->table, e) != 0)
		return -1;
	if (streamed_each_present(d, mark_pieces, e) != 0)
		return -1;
	return streamed_flush_some(d, true, e);
}
