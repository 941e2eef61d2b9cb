/* fetch.c: puts the chunks of an image together, in order, for emustore get and the check
 * of a store.  Called in the thread of its caller; it has threads of its own. */
#include "emustore/store/fetch.h"

#include <stdlib.h>

#include "common/base/ordered.h"
#include "common/base/pipeline.h"
#include "common/base/pool.h"

enum { SPARE_CHUNKS = 2, JOBS_MAX = 256 };

struct item {
	uint8_t bytes[NDZ_CHUNK_BYTES];
	uint32_t number;
};

struct worker {
	struct fetching *f;
	struct reopened *image;
};

struct fetching {
	const struct fetch *cfg;
	struct pool *items;
	struct ordered *work;
	struct pipeline *pipe;
	size_t jobs;
	struct worker *workers; /* `jobs` of them; the first uses the caller's image */
};

static int
submit_stage(void *arg, struct err *e)
{
	struct fetching *f = arg;
	void *item;

	(void)e;
	for (uint32_t i = f->cfg->from; i < f->cfg->to; i++) {
		if (pool_get(f->items, &item) != QUEUE_OK)
			return 0;
		((struct item *)item)->number = i;
		if (ordered_submit(f->work, item) != QUEUE_OK) {
			pool_put(f->items, item);
			return 0;
		}
	}
	ordered_close(f->work);
	return 0;
}

static int
worker_stage(void *arg, struct err *e)
{
	struct worker *w = arg;
	void *p;
	size_t ticket;

	while (ordered_begin(w->f->work, &p, &ticket) == QUEUE_OK) {
		struct item *x = p;
		if (reopened_chunk(w->image, x->number, x->bytes, e) != 0)
			return -1;
		ordered_done(w->f->work, ticket);
	}
	return 0;
}

/* Open the image once more for each further thread. */
static int
open_images(struct fetching *f, struct err *e)
{
	f->workers = calloc(f->jobs, sizeof *f->workers);
	if (f->workers == NULL)
		return err_nomem(e, "threads");
	for (size_t i = 0; i < f->jobs; i++) {
		f->workers[i].f = f;
		if (i == 0)
			f->workers[i].image = f->cfg->image;
		else if (reopened_more(&f->workers[i].image, f->cfg->image, e) != 0)
			return -1;
	}
	return 0;
}

static int
prepare(struct fetching *f, struct err *e)
{
	f->jobs = pipeline_jobs(f->cfg->jobs);
	/* Where no streams are redeflated, one thread reads faster than most disks write. */
	if (!reopened_about(f->cfg->image)->redeflated)
		f->jobs = 1;
	if (f->jobs > f->cfg->to - f->cfg->from)
		f->jobs = f->cfg->to - f->cfg->from;
	if (f->jobs > JOBS_MAX)
		f->jobs = JOBS_MAX;
	f->items = pool_new(f->jobs + SPARE_CHUNKS, sizeof(struct item));
	f->work = ordered_new(f->jobs + SPARE_CHUNKS);
	f->pipe = pipeline_new();
	if (f->items == NULL || f->work == NULL || f->pipe == NULL)
		return err_nomem(e, "chunks");
	pipeline_attach_pool(f->pipe, f->items);
	pipeline_attach_ordered(f->pipe, f->work);
	return open_images(f, e);
}

static int
run(struct fetching *f, struct err *e)
{
	void *p;
	int rc = 0;

	/* A thread that cannot be started ends all; pipeline_join() says why. */
	if (pipeline_start(f->pipe, submit_stage, f) == 0)
		for (size_t i = 0; i < f->jobs; i++)
			if (pipeline_start(f->pipe, worker_stage, &f->workers[i]) != 0)
				break;
	while (rc == 0 && ordered_take(f->work, &p) == QUEUE_OK) {
		rc = f->cfg->fn(f->cfg->arg, ((struct item *)p)->bytes, e);
		pool_put(f->items, p);
	}
	if (rc != 0)
		pipeline_fail(f->pipe, e);
	rc = pipeline_join(f->pipe, e);
	while (ordered_drain(f->work, &p))
		pool_put(f->items, p);
	return rc;
}

int
fetch_chunks(const struct fetch *cfg, uint64_t *equivalents, struct err *e)
{
	struct fetching f = { .cfg = cfg };
	int rc = prepare(&f, e);

	if (rc == 0)
		rc = run(&f, e);
	*equivalents = 0;
	for (size_t i = 0; i < f.jobs && f.workers != NULL; i++) {
		if (f.workers[i].image != NULL)
			*equivalents += reopened_equivalents(f.workers[i].image);
		if (i > 0)
			reopened_free(f.workers[i].image);
	}
	pipeline_free(f.pipe);
	ordered_free(f.work);
	pool_free(f.items);
	free(f.workers);
	return rc;
}
