/* apply.c: writes records to a target.  Records are gathered, written together, and then read
 * back together: while some are gathered, the ones before are being written, and those before
 * them are being read back.  merge.c calls this, in one thread; readback.c has threads of its own. */
#include "dsync/merge/apply.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/disk/flight.h"
#include "dsync/merge/readback.h"

enum {
	GATHERS = 3,
	GATHER_BYTES = 8 << 20, /* of one: half a second of a slow disk, with seeks */
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
	struct gather *now;     /* the one of all[] that is being filled */
	struct gather *written; /* the one of all[] that is being written; NULL: none */
	uint64_t ticket;        /* of the last write of `written` */
	struct gather all[GATHERS];
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
	a->now = a->all;
	int rc = 0;
	for (unsigned i = 0; rc == 0 && i < GATHERS; i++) {
		a->all[i].data = aligned_alloc(4096, GATHER_BYTES);
		if (a->all[i].data == NULL)
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
	for (unsigned i = 0; i < GATHERS; i++)
		free(a->all[i].data);
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

/* Wait until the records of a->written have been written and those before them have been read
 * back.  Then begin to read back the records of a->written. */
static int
settle(struct apply *a, struct err *e)
{
	struct gather *g = a->written;

	a->written = NULL;
	if (g == NULL)
		return 0;
	if (a->flight != NULL && flight_land_upto(a->flight, a->ticket, e) != 0)
		return -1;
	if (a->back == NULL)
		return 0;
	if (readback_end(a->back, e) != 0)
		return -1;
	return readback_begin(a->back, g->records, g->n, g->data, e);
}

/* Begin to write the records of a->now.  The next records are gathered in the one of all[] that
 * has been read back meanwhile. */
static int
write_gathered(struct apply *a, struct err *e)
{
	struct gather *g = a->now;
	int rc = cancel_check(e);

	for (size_t i = 0; rc == 0 && i < g->n; i++)
		rc = write_one(a, &g->records[i], e);
	uint64_t ticket = a->flight != NULL ? flight_ticket(a->flight) : 0;
	if (rc != 0 || settle(a, e) != 0)
		return -1; /* apply_free() waits for what is under way */
	a->written = g;
	a->ticket = ticket;
	a->now = a->all + (g - a->all + 1) % GATHERS;
	a->now->n = a->now->used = 0;
	return 0;
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
	if (write_gathered(a, e) != 0 || settle(a, e) != 0 ||
	    (a->back != NULL && readback_end(a->back, e) != 0))
		return -1;
	return disk_sync(a->target, e);
}
