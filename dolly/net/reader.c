/* reader.c: one thread that reads chunks (reader.h).  run() is that thread; serve.c calls
 * the functions of the header, in the engine's thread. */
#include "dolly/net/reader.h"

#include <stdlib.h>

#include "common/base/cancel.h"
#include "common/base/queue.h"

struct ask {
	uint32_t slot, chunk;
	void *to;
};

struct chunk_reader {
	chunk_reader_fn *read;
	void *arg;
	uint32_t *lengths; /* by slot; run() writes an entry before CHUNK_READER_READ */
	struct mailbox *box;
	struct queue *queue;
	pthread_t thread;
	bool started;
	struct err why; /* written before CHUNK_READER_FAILED, and not changed afterwards */
	bool failed;    /* used by run() alone */
};

static void *
run(void *arg)
{
	struct chunk_reader *r = arg;
	void *item;

	while (queue_get(r->queue, &item) == QUEUE_OK) {
		struct ask a = *(struct ask *)item;
		free(item);
		if (r->failed)
			continue;
		r->failed = r->read(r->arg, a.chunk, a.to, &r->lengths[a.slot],
				&r->why) != 0;
		mailbox_put(r->box, r->failed ? CHUNK_READER_FAILED : CHUNK_READER_READ,
		    a.slot);
	}
	return NULL;
}

int
chunk_reader_start(
    struct chunk_reader **out, chunk_reader_fn *read, void *arg, uint32_t slots,
    struct err *e)
{
	struct chunk_reader *r = calloc(1, sizeof *r);

	if (r == NULL)
		return err_nomem(e, "a reader");
	r->read = read;
	r->arg = arg;
	r->lengths = calloc(slots, sizeof *r->lengths);
	r->queue = queue_new(slots);
	if (r->lengths == NULL || r->queue == NULL ||
	    mailbox_new(&r->box, slots, e) != 0) {
		chunk_reader_stop(r);
		return err_nomem(e, "a reader");
	}
	if (thread_start(&r->thread, run, r) != 0) {
		chunk_reader_stop(r);
		return err_set(e, ERR_IO, "a thread could not be started");
	}
	r->started = true;
	*out = r;
	return 0;
}

int
chunk_reader_fd(const struct chunk_reader *r)
{
	return mailbox_fd(r->box);
}

void
chunk_reader_ask(struct chunk_reader *r, uint32_t slot, uint32_t chunk, void *to)
{
	struct ask *a = malloc(sizeof *a);

	if (a == NULL) {
		(void)err_nomem(&r->why, "a chunk");
		mailbox_put(r->box, CHUNK_READER_FAILED, slot);
		return;
	}
	*a = (struct ask){ slot, chunk, to };
	if (queue_put(r->queue, a) != QUEUE_OK)
		free(a);
}

bool
chunk_reader_take(struct chunk_reader *r, struct event *ev)
{
	return mailbox_take(r->box, ev);
}

uint32_t
chunk_reader_length(const struct chunk_reader *r, uint32_t slot)
{
	return r->lengths[slot];
}

void
chunk_reader_why(struct chunk_reader *r, struct err *e)
{
	*e = r->why;
}

void
chunk_reader_stop(struct chunk_reader *r)
{
	void *item;

	if (r == NULL)
		return;
	if (r->started) {
		queue_close(r->queue);
		pthread_join(r->thread, NULL);
	}
	while (r->queue != NULL && queue_try_get(r->queue, &item) == QUEUE_OK)
		free(item);
	mailbox_free(r->box);
	queue_free(r->queue);
	free(r->lengths);
	free(r);
}
