/* readback.c: reads back what apply.c has written, and compares it, in several threads.  apply.c
 * calls this, in one thread, and goes on with its own work meanwhile.  Direct reads come from the medium; where they are not possible,
 * pages are first written to the medium and dropped from the cache. */
#include "dsync/merge/readback.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/base/pipeline.h"
#include "dsync/read/uncached.h"
#include "dsync/read/zeros.h"

enum {
	READERS = 8, /* a disk answers several requests at once faster than one by one */
	PIECE_BYTES = 1 << 20, /* of one read */
	WORTH_IT = 4, /* fewer records are read by one thread */
};

struct readback {
	struct disk *target;
	struct uncached *uncached;
	struct pipeline *running; /* the threads that compare; NULL: none */
	/* What is being compared: set by readback_begin(). */
	const struct written *records;
	size_t n;
	const uint8_t *data;
	atomic_size_t next; /* index of the next record that a thread takes */
	atomic_bool failed;
};

int
readback_new(struct readback **out, struct disk *target, struct err *e)
{
	struct readback *b = calloc(1, sizeof *b);

	*out = b;
	if (b == NULL)
		return err_nomem(e, disk_name(target));
	b->target = target;
	if (uncached_new(&b->uncached, target, e) == 0)
		return 0;
	*out = NULL;
	free(b);
	return -1;
}

void
readback_free(struct readback *b)
{
	struct err ignored; /* another failure is being reported */

	if (b == NULL)
		return;
	atomic_store(&b->failed, true); /* the threads stop at their next record */
	readback_end(b, &ignored);
	uncached_free(b->uncached);
	free(b);
}

/* Read one piece from the medium into the buffer; *got points to it. */
static int
read_piece(struct readback *b, struct uncached_buf *buf, struct range r, uint8_t **got,
    struct err *e)
{
	if (uncached_is_direct(b->uncached))
		return uncached_read(b->uncached, buf, r.off, (size_t)r.len, got, e);
	*got = uncached_buf_room(buf);
	return disk_read_back(b->target, *got, (size_t)r.len, r.off, e);
}

static int
compare_one(struct readback *b, const struct written *w, struct uncached_buf *buf, struct err *e)
{
	uint8_t *got;

	for (uint64_t done = 0, n; done < w->bytes.len; done += n) {
		n = w->bytes.len - done < PIECE_BYTES ? w->bytes.len - done : PIECE_BYTES;
		struct range r = { w->bytes.off + done, n };
		if (cancel_check(e) != 0 || read_piece(b, buf, r, &got, e) != 0)
			return -1;
		bool same = w->at == SIZE_MAX
		                ? zeros_only(got, (size_t)n)
		                : memcmp(got, b->data + w->at + done, (size_t)n) == 0;
		if (!same)
			return err_set(e, ERR_IO,
			    "%s: does not hold what was written to it at byte %" PRIu64,
			    disk_name(b->target), r.off);
	}
	return 0;
}

static int
compare_some(void *arg, struct err *e)
{
	struct readback *b = arg;
	struct uncached_buf *buf = uncached_buf_new(PIECE_BYTES);
	int rc = buf != NULL ? 0 : err_nomem(e, "reading back");

	for (size_t i; rc == 0 && !atomic_load(&b->failed) &&
	               (i = atomic_fetch_add(&b->next, 1)) < b->n;)
		rc = compare_one(b, &b->records[i], buf, e);
	if (rc != 0)
		atomic_store(&b->failed, true);
	uncached_buf_free(buf);
	return rc;
}

int
readback_begin(struct readback *b, const struct written *records, size_t n,
    const uint8_t *data, struct err *e)
{
	b->records = records;
	b->n = n;
	b->data = data;
	atomic_store(&b->next, 0);
	atomic_store(&b->failed, false);
	b->running = n > 0 ? pipeline_new() : NULL;
	if (b->running == NULL)
		return n > 0 ? err_nomem(e, "reading back") : 0;
	for (unsigned i = 0; i < (n < WORTH_IT ? 1 : READERS); i++)
		if (pipeline_start(b->running, compare_some, b) != 0)
			break; /* readback_end() says why */
	return 0;
}

int
readback_end(struct readback *b, struct err *e)
{
	if (b->running == NULL)
		return 0;
	int rc = pipeline_join(b->running, e);
	pipeline_free(b->running);
	b->running = NULL;
	return rc;
}
