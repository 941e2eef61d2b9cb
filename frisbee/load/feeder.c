/* feeder.c: the thread that takes complete chunks, and the functions by which the load's
 * loop hands them over.  feeder_main() and what it calls run in the feeder's thread, all
 * else in the loop's. */
#include "common/base/cancel.h"
#include "frisbee/load/feeder_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static size_t
memory_bytes(const struct feeder *s)
{
	return (size_t)s->buffers * NDZ_CHUNK_BYTES;
}

uint8_t *
feeder_buffer(struct feeder *s, uint32_t buf)
{
	return s->memory + (size_t)buf * NDZ_CHUNK_BYTES;
}

static int
store(struct feeder *s, struct filled *f, struct err *e)
{
	if (feeder_prove(s, f, e) != 0)
		return feeder_send_back(s, f, e);
	s->next = f->chunk + 1;
	return feeder_pass_on(s, f, e);
}

/* Store chunks in order: those behind a chunk that must come again wait for it. */
static int
store_in_order(struct feeder *s, struct filled *f, struct err *e)
{
	struct filled **place = &s->waiting[f->chunk % s->buffers];
	int rc = 0;

	for (*place = f; rc == 0; place = &s->waiting[s->next % s->buffers]) {
		f = *place;
		if (f == NULL || f->chunk != s->next)
			break;
		*place = NULL;
		uint32_t chunk = f->chunk; /* the buffer may be another chunk's soon */
		rc = store(s, f, e);
		if (s->next == chunk)
			break;
	}
	return rc;
}

static void *
feeder_main(void *arg)
{
	struct feeder *s = arg;
	struct err *e = &s->err;
	void *p;
	enum queue_rc got;
	int rc = 0;

	while (rc == 0 && (got = queue_get(s->queue, &p)) == QUEUE_OK)
		rc = s->waiting != NULL ? store_in_order(s, p, e) : store(s, p, e);
	if (rc == 0 && got == QUEUE_END) {
		rc = sink_end(&s->sink, &s->sum, e);
		s->done = rc == 0;
	} else if (rc == 0 && s->sink_failed) {
		rc = err_set(e, ERR_CANCELLED, "not complete");
	} else if (rc == 0) {
		return NULL; /* the caller has given up */
	}
	s->failed = rc != 0;
	mailbox_put(s->box, rc == 0 ? FEEDER_DONE : FEEDER_FAILED, 0);
	return NULL;
}

static void
planned(void *arg, uint32_t buf)
{
	struct feeder *s = arg;

	mailbox_put(s->box, FEEDER_PLANNED, buf);
}

static void
planner_gave_up(void *arg)
{
	struct feeder *s = arg;

	mailbox_put(s->box, FEEDER_FAILED, 0);
}

static int
make_buffers(struct feeder *s, struct err *e)
{
	const uint32_t n = s->buffers;

	s->filled = calloc(n, sizeof *s->filled);
	s->queue = queue_new(n);
	s->waiting = s->info.in_order ? calloc(n, sizeof *s->waiting) : NULL;
	s->memory = mmap(NULL, memory_bytes(s), PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (s->memory == MAP_FAILED)
		s->memory = NULL;
	return s->filled == NULL || s->queue == NULL || s->memory == NULL ||
	               (s->info.in_order && s->waiting == NULL)
	           ? err_nomem(e, "chunk buffers; use fewer with -C")
	           : 0;
}

static int
start(struct feeder *s, struct err *e)
{
	struct planner_config pc = { .sink = &s->sink,
		.buffers = s->buffers,
		.memory = s->memory,
		.planned = planned,
		.failed = planner_gave_up,
		.arg = s };

	if (s->info.takes_parts && planner_new(&s->planner, &pc, e) != 0)
		return -1;
	errno = thread_start(&s->thread, feeder_main, s);
	s->started = errno == 0;
	return s->started ? 0 : err_os(e, "cannot start a thread");
}

int
feeder_new(struct feeder **out, uint32_t buffers, struct prover *prover,
    struct sink *sink, struct mailbox *box, struct err *e)
{
	struct feeder *s = calloc(1, sizeof *s);
	struct err ignored;

	if (s == NULL) {
		sink_close(sink, NULL, NULL);
		prover_free(prover);
		return err_nomem(e, "the client");
	}
	s->buffers = buffers;
	s->prover = prover;
	s->sink = *sink;
	s->box = box;
	sink_info(sink, &s->info);
	pthread_mutex_init(&s->lock, NULL);
	if (make_buffers(s, e) != 0 || start(s, e) != 0) {
		feeder_close(s, NULL, &ignored);
		return -1;
	}
	*out = s;
	return 0;
}

const struct sink_info *
feeder_info(const struct feeder *s)
{
	return &s->info;
}

bool
feeder_has(void *feeder, uint32_t chunk)
{
	const struct feeder *s = feeder;

	return sink_has(&s->sink, chunk);
}

void
feeder_expect(struct feeder *s, uint32_t nchunks)
{
	const struct sink_giver giver = feeder_giver(s);

	sink_begin(&s->sink, nchunks, &giver);
	free(s->damaged);
	s->damaged = calloc(nchunks, sizeof *s->damaged);
	s->nchunks = nchunks;
}

void
feeder_put(struct feeder *s, uint32_t chunk, uint32_t buf, uint32_t bytes,
    const uint8_t *parity_at)
{
	struct filled *f = &s->filled[buf];

	f->chunk = chunk;
	f->bytes = bytes;
	f->parity = parity_at != NULL;
	f->planned = false;
	if (f->parity)
		memcpy(f->parity_at, parity_at, sizeof f->parity_at);
	queue_put(s->queue, f);
}

void
feeder_plan(struct feeder *s, uint32_t buf, const struct blockmap *here)
{
	planner_put(s->planner, buf, here);
}

const struct blockmap *
feeder_planned(const struct feeder *s, uint32_t buf, bool *final)
{
	const struct sink_part *p = &planner_plan(s->planner, buf)->part;

	*final = p->final;
	return &p->need;
}

void
feeder_put_planned(struct feeder *s, uint32_t chunk, uint32_t buf, uint32_t bytes,
    const struct blockmap *here)
{
	struct filled *f = &s->filled[buf];

	f->chunk = chunk;
	f->bytes = bytes;
	f->parity = false;
	f->planned = true;
	f->here = *here;
	queue_put(s->queue, f);
}

const struct blockmap *
feeder_damaged(const struct feeder *s, uint32_t buf)
{
	return &s->filled[buf].bad;
}

const struct err *
feeder_damage(const struct feeder *s, uint32_t buf, uint32_t *chunk)
{
	*chunk = s->filled[buf].chunk;
	return &s->filled[buf].why;
}

void
feeder_end(struct feeder *s)
{
	queue_close(s->queue);
}

static void
free_feeder(struct feeder *s)
{
	if (s->memory != NULL)
		munmap(s->memory, memory_bytes(s));
	queue_free(s->queue);
	prover_free(s->prover);
	planner_free(s->planner);
	pthread_mutex_destroy(&s->lock);
	free(s->damaged);
	free(s->waiting);
	free(s->wants);
	free(s->filled);
	free(s);
}

int
feeder_close(struct feeder *s, struct sink_sum *sum, struct err *e)
{
	if (s->started) {
		queue_cancel(s->queue);
		pthread_join(s->thread, NULL);
	}
	int rc = s->done ? 0 : -1;
	planner_stop(s->planner); /* the planner asks the sink, so it is stopped first */
	sink_close(&s->sink, &s->sum, &s->err);
	if (planner_failed(s->planner, e))
		rc = -1;
	else if (s->failed)
		*e = s->err;
	else if (!s->done)
		err_set(e, ERR_CANCELLED, "not complete");
	if (sum != NULL)
		*sum = s->sum;
	free_feeder(s);
	return rc;
}
