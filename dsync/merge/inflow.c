/* inflow.c: writes a stream into a journal in parts.  merge.c calls this, in one thread, which goes on
 * to read and to check the stream; the thread here (write_parts()) waits for the disk.  A stream
 * that is smaller than a part is written without a thread. */
#include "dsync/merge/inflow.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/base/pipeline.h"
#include "common/base/queue.h"

enum {
	PARTS = 16,
	PART_BYTES = 1 << 20,
};

struct part {
	uint64_t at; /* the first byte, in the stream */
	size_t used;
	uint8_t data[PART_BYTES];
};

struct inflow {
	struct journal *journal;
	struct part *now; /* one of all[], which is being filled; NULL: there is none */
	uint64_t at;      /* bytes that were taken */
	struct queue *idle, *full; /* of parts */
	struct pipeline *pipe; /* its thread; NULL: not started yet */
	struct part *all;
};

int
inflow_new(struct inflow **out, struct journal *j, struct err *e)
{
	struct inflow *f = calloc(1, sizeof *f);

	*out = NULL;
	if (f == NULL)
		return err_nomem(e, "the journal");
	f->journal = j;
	f->all = calloc(PARTS, sizeof *f->all);
	f->idle = queue_new(PARTS);
	f->full = queue_new(PARTS);
	if (f->all == NULL || f->idle == NULL || f->full == NULL) {
		inflow_free(f);
		return err_nomem(e, "the journal");
	}
	for (unsigned i = 0; i < PARTS; i++)
		queue_put(f->idle, &f->all[i]);
	*out = f;
	return 0;
}

/* Wait for the thread.  A failure is the one that came first. */
static int
join(struct inflow *f, struct err *e)
{
	int rc = f->pipe != NULL ? pipeline_join(f->pipe, e) : 0;

	pipeline_free(f->pipe);
	f->pipe = NULL;
	return rc;
}

void
inflow_free(struct inflow *f)
{
	struct err ignored; /* another failure is being reported, or all has ended */

	if (f == NULL)
		return;
	if (f->full != NULL)
		queue_cancel(f->full);
	join(f, &ignored);
	queue_free(f->idle);
	queue_free(f->full);
	free(f->all);
	free(f);
}

static int
write_part(struct inflow *f, const struct part *p, struct err *e)
{
	return journal_store(f->journal, p->data, p->used, p->at, e);
}

static int
write_parts(void *arg, struct err *e)
{
	struct inflow *f = arg;
	void *part;
	int rc = 0;

	while (rc == 0 && queue_get(f->full, &part) == QUEUE_OK) {
		rc = write_part(f, part, e);
		queue_put(f->idle, part);
	}
	return rc;
}

static int
start(struct inflow *f, struct err *e)
{
	if (f->pipe != NULL)
		return 0;
	f->pipe = pipeline_new();
	if (f->pipe == NULL)
		return err_nomem(e, "the journal");
	pipeline_attach_queue(f->pipe, f->full);
	pipeline_attach_queue(f->pipe, f->idle);
	return pipeline_start(f->pipe, write_parts, f) == 0 ? 0 : join(f, e);
}

/* Let the thread write the part that was filled, and begin to fill another one. */
static int
next_part(struct inflow *f, struct err *e)
{
	void *part;

	if (f->now != NULL && f->now->used < PART_BYTES)
		return 0;
	if (f->now != NULL && start(f, e) != 0)
		return -1;
	if (f->now != NULL && queue_put(f->full, f->now) != QUEUE_OK)
		return join(f, e);
	f->now = NULL;
	if (queue_get(f->idle, &part) != QUEUE_OK)
		return join(f, e);
	f->now = part;
	f->now->at = f->at;
	f->now->used = 0;
	return 0;
}

int
inflow_put(struct inflow *f, const void *bytes, size_t n, struct err *e)
{
	const uint8_t *from = bytes;

	if (cancel_check(e) != 0)
		return -1;
	while (n > 0) {
		if (next_part(f, e) != 0)
			return -1;
		struct part *p = f->now;
		size_t some = n < PART_BYTES - p->used ? n : PART_BYTES - p->used;
		memcpy(p->data + p->used, from, some);
		p->used += some;
		f->at += some;
		from += some;
		n -= some;
	}
	return 0;
}

int
inflow_end(struct inflow *f, struct err *e)
{
	queue_close(f->full);
	if (join(f, e) != 0 || (f->now != NULL && write_part(f, f->now, e) != 0) ||
	    journal_trim(f->journal, f->at, e) != 0)
		return -1;
	return disk_sync(journal_disk(f->journal), e);
}

uint64_t
inflow_bytes(const struct inflow *f)
{
	return f->at;
}
