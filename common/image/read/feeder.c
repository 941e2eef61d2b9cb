/* feeder.c: the functions by which a caller hands chunks to the feeder's thread
 * (feeder.h).  A load of frisbee calls them in its thread, dolly in the engine's. */
#include "common/base/cancel.h"
#include "common/image/read/feeder_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static size_t
memory_bytes(const struct feeder *s)
{
	return (size_t)s->cfg.buffers * NDZ_CHUNK_BYTES;
}

uint8_t *
feeder_buffer(struct feeder *s, uint32_t buf)
{
	return s->memory + (size_t)buf * NDZ_CHUNK_BYTES;
}

static int
make_buffers(struct feeder *s, struct err *e)
{
	const uint32_t n = s->cfg.buffers;

	s->filled = calloc(n, sizeof *s->filled);
	s->queue = queue_new(n);
	s->waiting = s->info.in_order ? calloc(n, sizeof *s->waiting) : NULL;
	s->memory = mmap(NULL, memory_bytes(s), PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (s->memory == MAP_FAILED)
		s->memory = NULL;
	if (s->filled == NULL || s->queue == NULL || s->memory == NULL ||
	    (s->info.in_order && s->waiting == NULL))
		return err_nomem(e, "chunk buffers; use fewer with -C");
	for (uint32_t i = 0; i < n; i++)
		s->filled[i].feeder = s;
	return 0;
}

static int
start(struct feeder *s, struct err *e)
{
	struct planner_config pc = { .sink = &s->sink,
		.buffers = s->cfg.buffers,
		.memory = s->memory,
		.box = s->cfg.box };

	if (s->info.takes_parts && planner_new(&s->planner, &pc, e) != 0)
		return -1;
	errno = thread_start(&s->thread, feeder_main, s);
	s->started = errno == 0;
	return s->started ? 0 : err_os(e, "cannot start a thread");
}

static int
open_sink(struct feeder *s, struct err *e)
{
	const struct feeder_config *c = &s->cfg;
	struct sink sink;

	if (c->keys != NULL && prover_new(&s->prover, c->keys, c->keep_encrypted, e) != 0)
		return -1;
	if (c->open(c->open_arg, &sink, e) != 0)
		return -1;
	s->sink = sink;
	sink_info(&sink, &s->info);
	return 0;
}

int
feeder_new(struct feeder **out, const struct feeder_config *cfg, struct err *e)
{
	struct feeder *s = calloc(1, sizeof *s);
	struct err ignored;

	if (s == NULL)
		return err_nomem(e, "chunk buffers");
	s->cfg = *cfg;
	pthread_mutex_init(&s->lock, NULL);
	if (open_sink(s, e) != 0 || make_buffers(s, e) != 0 || start(s, e) != 0) {
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
feeder_put(struct feeder *s, uint32_t buf, const struct feeder_chunk *c)
{
	struct filled *f = &s->filled[buf];

	f->back.came = *c;
	if (c->parity_at != NULL)
		f->back.came.parity_at =
		    memcpy(f->parity_at, c->parity_at, sizeof f->parity_at);
	if (c->here != NULL)
		f->back.came.here = memcpy(&f->here, c->here, sizeof f->here);
	queue_put(s->queue, f);
}

bool
feeder_wants(struct feeder *s, uint32_t *chunk)
{
	pthread_mutex_lock(&s->lock);
	bool any = s->nwants > 0;
	if (any)
		*chunk = s->wants[--s->nwants];
	s->told = any;
	pthread_mutex_unlock(&s->lock);
	return any;
}

void
feeder_plan(struct feeder *s, uint32_t buf, const struct blockmap *here)
{
	planner_put(s->planner, buf, here);
}

const struct sink_part *
feeder_planned(const struct feeder *s, uint32_t buf)
{
	return &planner_plan(s->planner, buf)->part;
}

const struct feeder_back *
feeder_back(const struct feeder *s, uint32_t buf)
{
	return &s->filled[buf].back;
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
	for (uint32_t i = 0; s->filled != NULL && i < s->cfg.buffers; i++)
		proved_give_back(s->filled[i].proved);
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
	bool planned = planner_stop(s->planner, e) == 0; /* it asks the sink */
	sink_close(&s->sink, &s->sum, &s->err);
	if (!planned)
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
