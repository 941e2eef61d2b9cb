/* apply.c: writes records to a target.  Records are gathered, written together, and then read
 * back together, so that the target does not alternate between writing and reading for each
 * record.  merge.c calls this, in one thread. */
#include "dsync/merge/apply.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/disk/flight.h"
#include "dsync/merge/readback.h"

enum {
	GATHER_BYTES = 32 << 20,
	GATHER_RECORDS = 8192,
};

struct apply {
	struct disk *target;
	struct flight *flight; /* NULL: the target takes no direct writes */
	struct readback *back;  /* NULL: nothing is read back */
	bool discard;
	size_t used, n;                       /* bytes in data, and records */
	struct written records[GATHER_RECORDS];
	uint8_t *data; /* of GATHER_BYTES */
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
	a->data = aligned_alloc(4096, GATHER_BYTES);
	int rc = a->data != NULL ? flight_new(&a->flight, target, false, e)
	                         : err_nomem(e, disk_name(target));
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
	free(a->data);
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
		    a->flight, a->data + w->at, (size_t)w->bytes.len, w->bytes.off, e);
	return disk_write(a->target, a->data + w->at, (size_t)w->bytes.len, w->bytes.off, e);
}

static int
write_gathered(struct apply *a, struct err *e)
{
	int rc = cancel_check(e);

	for (size_t i = 0; rc == 0 && i < a->n; i++)
		rc = write_one(a, &a->records[i], e);
	if (a->flight != NULL) {
		struct err late;
		if (flight_land(a->flight, &late) != 0 && rc == 0)
			*e = late, rc = -1;
	}
	if (rc == 0 && a->back != NULL)
		rc = readback_all(a->back, a->records, a->n, a->data, e);
	a->n = a->used = 0;
	return rc;
}

int
apply_record(struct apply *a, const struct stream_record *r, struct err *e)
{
	size_t n = r->type == STREAM_DATA ? (size_t)r->bytes.len : 0;
	/* Direct writes need data that begins at a page of memory. */
	size_t room = (n + 4095) / 4096 * 4096;

	if ((a->n == GATHER_RECORDS || a->used + room > GATHER_BYTES) &&
	    write_gathered(a, e) != 0)
		return -1;
	if (n > 0)
		memcpy(a->data + a->used, r->data, n);
	a->records[a->n++] = (struct written){ r->bytes, n > 0 ? a->used : SIZE_MAX };
	a->used += room;
	return 0;
}

int
apply_finish(struct apply *a, struct err *e)
{
	return write_gathered(a, e) == 0 ? disk_sync(a->target, e) : -1;
}
