/* put_sink.c: an image of a store as a sink.  A put asks for chunks (put.h), so it runs in a
 * thread of its own, put_main(), whose reader takes each chunk from the thread that puts it. */
#include "emustore/store/put_sink.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/base/queue.h"
#include "common/image/format/format.h"

struct put_sink {
	struct put_sink_config cfg;
	struct put *put;
	struct queue *given, *taken; /* one chunk at a time: there, and back */
	pthread_t thread;
	bool running;
	uint32_t next; /* the chunk that must be put */
	atomic_bool failed;
	struct err err; /* failed: why */
};

/* In a thread of the put's. */
static int
take_chunk(void *arg, void *to, struct err *e)
{
	struct put_sink *s = arg;
	void *item;

	switch (queue_get(s->given, &item)) {
	case QUEUE_END:
		return 0;
	case QUEUE_CANCEL:
		return err_set(e, ERR_CANCELLED, "not complete");
	case QUEUE_OK:
		break;
	}
	const struct sink_chunk *c = item;
	memcpy(to, c->bytes, NDZ_CHUNK_BYTES);
	queue_put(s->taken, item);
	return 1;
}

static int
look_whether_wanted(void *arg, uint64_t chunks, struct err *e)
{
	(void)arg;
	(void)chunks;
	return cancel_check(e);
}

static void *
put_main(void *arg)
{
	struct put_sink *s = arg;

	if (put_all(s->put, &s->err) != 0)
		s->failed = true;
	queue_cancel(s->given);
	queue_cancel(s->taken);
	return NULL;
}

static void
join(struct put_sink *s)
{
	if (s->running)
		pthread_join(s->thread, NULL);
	s->running = false;
}

static void
info(void *self, struct sink_info *i)
{
	(void)self;
	i->in_order = true;
}

static int
hand_over(struct put_sink *s, const struct sink_chunk *c, struct err *e)
{
	void *item;

	if (c->number != s->next || c->length != NDZ_CHUNK_BYTES)
		return err_set(e, ERR_FORMAT,
		    "chunk %u: chunk %u of an image was expected", c->number, s->next);
	if (queue_put(s->given, (void *)(uintptr_t)c) != QUEUE_OK ||
	    queue_get(s->taken, &item) != QUEUE_OK) {
		join(s);
		*e = s->err;
		return -1;
	}
	s->next++;
	return 0;
}

static int
put_one(void *self, const struct sink_chunk *c, struct err *e)
{
	int rc = hand_over(self, c, e);

	sink_release(c);
	return rc;
}

static int
end(void *self, struct sink_sum *sum, struct err *e)
{
	struct put_sink *s = self;

	queue_close(s->given);
	join(s);
	if (s->failed) {
		*e = s->err;
		return -1;
	}
	int rc = put_end(s->put, s->cfg.about, s->cfg.stats, e);
	*sum = (struct sink_sum){ s->cfg.stats->new_bytes,
		s->cfg.stats->chunks * NDZ_CHUNK_BYTES };
	return rc;
}

static bool
close_sink(void *self, struct sink_sum *sum, struct err *why)
{
	struct put_sink *s = self;
	const bool failed = s->failed;

	(void)sum;
	if (s->running) {
		queue_cancel(s->given);
		queue_cancel(s->taken);
	}
	join(s);
	if (failed)
		*why = s->err;
	put_free(s->put);
	queue_free(s->given);
	queue_free(s->taken);
	free(s);
	return failed;
}

static int
start(struct put_sink *s, struct err *e)
{
	const struct put_config c = { .exact = s->cfg.exact,
		.jobs = s->cfg.jobs,
		.next = take_chunk,
		.progress = look_whether_wanted,
		.arg = s };

	s->given = queue_new(1);
	s->taken = queue_new(1);
	if (s->given == NULL || s->taken == NULL)
		return err_nomem(e, "an image");
	if (put_begin(&s->put, s->cfg.store, s->cfg.about, &c, e) != 0)
		return -1;
	errno = thread_start(&s->thread, put_main, s);
	s->running = errno == 0;
	return s->running ? 0 : err_os(e, "cannot start a thread");
}

int
sink_to_store(struct sink *out, const struct put_sink_config *cfg, struct err *e)
{
	static const struct sink_ops ops = {
		.info = info, .put = put_one, .end = end, .close = close_sink
	};
	struct put_sink *s = calloc(1, sizeof *s);
	struct err unused;
	struct sink_sum none;

	if (s == NULL)
		return err_nomem(e, "an image");
	s->cfg = *cfg;
	if (start(s, e) != 0) {
		close_sink(s, &none, &unused);
		return -1;
	}
	*out = (struct sink){ &ops, s };
	return 0;
}
