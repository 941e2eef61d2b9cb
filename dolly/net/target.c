/* target.c: the thread that proves chunks and puts them into the sink (target.h).  run() is
 * that thread, and calls the sink from target_thread_start() on, except for
 * target_thread_info() and target_thread_has().  join.c calls the functions of the header,
 * in the engine's thread. */
#include "dolly/net/target.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/base/mailbox.h"
#include "common/base/queue.h"
#include "common/image/read/source.h"
#include "dolly/raw/raw.h"

/* A chunk on its way to the sink.  `bytes` NULL: there are no more chunks. */
struct put {
	struct target_thread *target;
	uint32_t slot, chunk, length;
	const void *bytes;
	void *copy; /* the decrypted or unpacked chunk, since `bytes` are sent to children as
	             * they came; or NULL */
};

struct target_thread {
	struct sink sink;
	struct prover *prover;
	struct raw *raw; /* NULL: chunks are those of an image */
	uint64_t bytes;  /* size of all raw data */
	struct mailbox *box;
	struct queue *queue;
	pthread_t thread;
	bool started, decrypts;
	struct sink_sum sum; /* written by run() before TARGET_FINISHED */
	atomic_bool stopping; /* chunks that wait are not put any more */
	pthread_mutex_t lock; /* of `why` */
	struct err why;
};

static void
set_why(struct target_thread *t, const struct err *e)
{
	pthread_mutex_lock(&t->lock);
	t->why = *e;
	pthread_mutex_unlock(&t->lock);
}

void
target_thread_why(struct target_thread *t, struct err *e)
{
	pthread_mutex_lock(&t->lock);
	*e = t->why;
	pthread_mutex_unlock(&t->lock);
}

static void
on_needs(void *arg, uint32_t chunk)
{
	struct target_thread *t = arg;

	mailbox_put(t->box, TARGET_NEEDS, chunk);
}

/* The sink has failed in another thread.  There is nothing to do: the next sink_put() returns
 * the error. */
static void
on_failed(void *arg)
{
	(void)arg;
}

/* Frees a chunk's description, and its copy. */
static void
drop(struct put *p)
{
	free(p->copy);
	free(p);
}

static void
released(void *arg, const void *bytes)
{
	struct put *p = arg;

	(void)bytes;
	mailbox_put(p->target->box, TARGET_RELEASED, p->slot);
	drop(p);
}

static void
give_up(struct target_thread *t, struct err *e)
{
	sink_close(&t->sink, NULL, e);
	set_why(t, e);
	mailbox_put(t->box, TARGET_FAILED, 0);
}

/* Makes room for the decrypted or unpacked chunk, where it differs from the bytes that are
 * sent to children. */
static int
copy_chunk(struct target_thread *t, struct put *p, struct err *e)
{
	if (!t->decrypts && t->raw == NULL)
		return 0;
	p->copy = malloc(SOURCE_CHUNK_BYTES);
	return p->copy != NULL ? 0 : err_nomem(e, "a chunk");
}

static int
prove_image(struct target_thread *t, struct put *p, struct sink_chunk *c, struct err *e)
{
	struct blockmap bad;

	if (p->length != SOURCE_CHUNK_BYTES)
		return err_set(e, ERR_FORMAT, "it has %u bytes", p->length);
	if (p->copy != NULL)
		memcpy(p->copy, p->bytes, p->length);
	if (prover_chunk(t->prover, c, &bad, e) != 0)
		return err_ctx(e, "chunk %u", p->chunk);
	return 0;
}

static int
prove(struct target_thread *t, struct put *p, struct sink_chunk *c, struct err *e)
{
	if (t->raw == NULL)
		return prove_image(t, p, c, e);
	c->length = raw_length(t->bytes, p->chunk);
	return raw_unpack(t->raw, p->chunk, p->bytes, p->length, p->copy, c->length, e);
}

/* Proves a chunk, and puts it.  1: the chunk was damaged, and is to be sent again.  -1: what
 * was not proved is not released, because a relay sends what is. */
static int
prove_and_put(struct target_thread *t, struct put *p, struct err *e)
{
	struct sink_chunk c = { .number = p->chunk,
		.length = p->length,
		.bytes = p->copy != NULL ? p->copy : (void *)(uintptr_t)p->bytes,
		.released = released,
		.arg = p };

	if (prove(t, p, &c, e) == 0)
		return sink_put(&t->sink, &c, e);
	bool again = prover_blames_chunk(e);
	set_why(t, e);
	if (again)
		mailbox_put(t->box, TARGET_DAMAGED, p->slot);
	drop(p);
	return again ? 1 : -1;
}

/* Handles one item of the queue.  False: the thread has nothing more to do. */
static bool
handle(struct target_thread *t, struct put *p)
{
	struct err e;

	if (p->bytes == NULL) {
		free(p);
		if (sink_end(&t->sink, &t->sum, &e) != 0) {
			give_up(t, &e);
			return false;
		}
		sink_close(&t->sink, NULL, &e);
		mailbox_put(t->box, TARGET_FINISHED, 0);
		return false;
	}
	if (copy_chunk(t, p, &e) != 0) {
		drop(p);
		give_up(t, &e);
		return false;
	}
	if (prove_and_put(t, p, &e) >= 0)
		return true;
	give_up(t, &e);
	return false;
}

static void *
run(void *arg)
{
	struct target_thread *t = arg;
	void *item;
	struct err e;

	while (queue_get(t->queue, &item) == QUEUE_OK)
		if (t->stopping)
			free(item);
		else if (!handle(t, item))
			return NULL;
	(void)err_set(&e, ERR_CANCELLED, "given up");
	sink_close(&t->sink, NULL, &e);
	return NULL;
}

int
target_thread_start(
    struct target_thread **out, const struct target_config *cfg, struct err *e)
{
	struct target_thread *t = calloc(1, sizeof *t);
	const struct sink_giver giver = { on_needs, on_failed, t };

	if (t == NULL)
		return err_nomem(e, "the target");
	pthread_mutex_init(&t->lock, NULL);
	t->decrypts = cfg->opener->decrypt != NULL;
	t->bytes = cfg->bytes;
	t->queue = queue_new(cfg->slots + 2);
	*out = t;
	if (t->queue == NULL)
		return err_nomem(e, "the target");
	if (mailbox_new(&t->box, 2 * cfg->slots + cfg->chunks + 8, e) != 0 ||
	    prover_new(&t->prover, cfg->opener, false, e) != 0 ||
	    (cfg->raw && raw_new(&t->raw, false, e) != 0) ||
	    cfg->open(cfg->arg, &t->sink, e) != 0)
		return -1;
	sink_begin(&t->sink, cfg->chunks, &giver);
	if (thread_start(&t->thread, run, t) != 0)
		return err_set(e, ERR_IO, "a thread could not be started");
	t->started = true;
	return 0;
}

struct mailbox *
target_thread_mailbox(struct target_thread *t)
{
	return t->box;
}

void
target_thread_info(struct target_thread *t, struct sink_info *i)
{
	sink_info(&t->sink, i);
}

bool
target_thread_has(struct target_thread *t, uint32_t chunk)
{
	return sink_has(&t->sink, chunk);
}

void
target_thread_put(struct target_thread *t, uint32_t slot, uint32_t chunk,
    const void *bytes, uint32_t length)
{
	struct put *p = malloc(sizeof *p);

	if (p == NULL) {
		mailbox_put(t->box, TARGET_DAMAGED, slot); /* it is asked for again */
		return;
	}
	*p = (struct put){ t, slot, chunk, length, bytes, NULL };
	if (queue_put(t->queue, p) != QUEUE_OK)
		free(p);
}

void
target_thread_finish(struct target_thread *t)
{
	target_thread_put(t, 0, 0, NULL, 0);
}

void
target_thread_sum(struct target_thread *t, struct sink_sum *sum)
{
	*sum = t->sum;
}

void
target_thread_stop(struct target_thread *t)
{
	void *item;

	if (t == NULL)
		return;
	if (t->started) {
		t->stopping = true;
		queue_close(t->queue);
		pthread_join(t->thread, NULL);
	}
	while (t->queue != NULL && queue_try_get(t->queue, &item) == QUEUE_OK)
		free(item);
	sink_close(&t->sink, NULL, NULL);
	prover_free(t->prover);
	raw_free(t->raw);
	mailbox_free(t->box);
	queue_free(t->queue);
	pthread_mutex_destroy(&t->lock);
	free(t);
}
