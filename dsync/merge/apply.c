/* apply.c: writes records to a target.  Records are gathered, written together, and then read
 * back together, while the next ones are gathered and written.  merge.c calls this, in one thread;
 * readback.c has threads of its own. */
#include "dsync/merge/apply.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/disk/flight.h"
#include "dsync/merge/readback.h"

enum {
	GATHER_BYTES = 16 << 20, /* one of the two parts: a second of a slow disk, with seeks */
	GATHER_RECORDS = 4096,
};

/* Records that are written and read back together. */
struct gather {
	size_t used, n; /* bytes in data, and records */
	struct written records[GATHER_RECORDS];
	uint8_t *data; /* of GATHER_BYTES */
};

struct apply {
	struct disk *target;
	struct flight *flight; /* NULL: the target takes no direct writes */
	struct readback *back;  /* NULL: nothing is read back */
	bool discard;
	struct gather *now; /* one of both[]; the other is being read back, or empty */
	struct gather both[2];
};

int
apply_new(struct apply **out, struct disk *target, bool verify, bool discard, struct err *e)
{
	struct apply *a = calloc(1, sizeof *a);

	*out = NULL;
	if (a == NULL)
		return err_nomem(e, disk_name(target));
	a->target = target;
	a->discard = discard;
	a->now = a->both;
	int rc = 0;
	for (unsigned i = 0; rc == 0 && i < 2; i++) {
		a->both[i].data = aligned_alloc(4096, GATHER_BYTES);
		if (a->both[i].data == NULL)
			rc = err_nomem(e, disk_name(target));
	}
	if (rc == 0)
		rc = flight_new(&a->flight, target, false, e);
	if (rc == 0 && verify)
		rc = readback_new(&a->back, target, e);
	if (rc == 0)
		*out = a;
	else
		apply_free(a);
	return rc;
}

void
apply_free(struct apply *a)
{
	struct err ignored; /* either all has landed, or a failure is reported already */

	if (a == NULL)
		return;
	if (a->flight != NULL) {
		flight_land(a->flight, &ignored);
		flight_free(a->flight);
	}
	readback_free(a->back);
	free(a->both[0].data);
	free(a->both[1].data);
	free(a);
}

/* Make the range read as zeros.  A device may ignore a discard, so disk_zero() follows it. */
static int
write_zeros(struct apply *a, struct range r, struct err *e)
{
	if (a->discard)
		disk_discard(a->target, r.off, r.len);
	return disk_zero(a->target, r.off, r.len, e);
}

static int
write_one(struct apply *a, const struct written *w, struct err *e)
{
	if (w->at == SIZE_MAX)
		return write_zeros(a, w->bytes, e);
	if (a->flight != NULL)
		return flight_write(
		    a->flight, a->now->data + w->at, (size_t)w->bytes.len, w->bytes.off, e);
	return disk_write(
	    a->target, a->now->data + w->at, (size_t)w->bytes.len, w->bytes.off, e);
}

/* Write what was gathered.  Then what was written before must have been read back, and this begins
 * to be. */
static int
write_gathered(struct apply *a, struct err *e)
{
	struct gather *g = a->now;
	int rc = cancel_check(e);

	for (size_t i = 0; rc == 0 && i < g->n; i++)
		rc = write_one(a, &g->records[i], e);
	if (a->flight != NULL) {
		struct err late;
		if (flight_land(a->flight, &late) != 0 && rc == 0)
			*e = late, rc = -1;
	}
	if (rc == 0 && a->back != NULL)
		rc = readback_end(a->back, e);
	if (rc == 0 && a->back != NULL)
		rc = readback_begin(a->back, g->records, g->n, g->data, e);
	a->now = g == a->both ? a->both + 1 : a->both;
	a->now->n = a->now->used = 0;
	return rc;
}

int
apply_record(struct apply *a, const struct stream_record *r, struct err *e)
{
	size_t n = r->type == STREAM_DATA ? (size_t)r->bytes.len : 0;
	/* Direct writes need data that begins at a page of memory. */
	size_t room = (n + 4095) / 4096 * 4096;

	if ((a->now->n == GATHER_RECORDS || a->now->used + room > GATHER_BYTES) &&
	    write_gathered(a, e) != 0)
		return -1;
	struct gather *g = a->now;
	if (n > 0)
		memcpy(g->data + g->used, r->data, n);
	g->records[g->n++] = (struct written){ r->bytes, n > 0 ? g->used : SIZE_MAX };
	g->used += room;
	return 0;
}

int
apply_finish(struct apply *a, struct err *e)
{
	if (write_gathered(a, e) != 0 || (a->back != NULL && readback_end(a->back, e) != 0))
		return -1;
	return disk_sync(a->target, e);
}
