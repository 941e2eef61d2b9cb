/* planner.c: threads that compare chunks with what the sink has (planner.h).  feeder.c starts
 * them, and hands chunks over in its caller's thread. */
#include "common/image/read/planner.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/pipeline.h"
#include "common/base/queue.h"
#include "common/image/format/format.h"
#include "common/image/read/feeder.h"

enum { GENTLE_NICE = 10 };

struct planner {
	struct planner_config cfg;
	struct queue *queue; /* of &plans[buf] */
	struct plan *plans;  /* by buffer */
	struct pipeline *pipe; /* NULL: the threads were stopped */
};

static int
plan(struct planner *pl, struct plan *p, struct err *e)
{
	uint32_t buf = (uint32_t)(p - pl->plans);

	return sink_compare(pl->cfg.sink, pl->cfg.memory + (size_t)buf * NDZ_CHUNK_BYTES,
	    &p->here, &p->part, e);
}

static int
compare_stage(void *arg, struct err *e)
{
	struct planner *pl = arg;
	void *p;

	/* The thread gives way, so that the network need not wait for the processor.  On
	 * Linux nice(2) changes this thread alone. */
	errno = 0;
	if (nice(GENTLE_NICE) == -1 && errno != 0)
		/* without nice() the thread competes with the network, which is slower, not
		 * wrong */
		errno = 0;
	while (queue_get(pl->queue, &p) == QUEUE_OK) {
		if (plan(pl, p, e) != 0)
			return -1;
		mailbox_put(pl->cfg.box, FEEDER_PLANNED,
		    (uint32_t)((struct plan *)p - pl->plans));
	}
	return 0;
}

static void
on_failed(void *arg)
{
	struct planner *pl = arg;

	mailbox_put(pl->cfg.box, FEEDER_FAILED, 0);
}

/* Starts the threads.  When a thread cannot be started, the error says so, and no event does.
 * No chunk comes before this has returned. */
static int
start(struct planner *pl, struct err *e)
{
	int rc = 0;

	pipeline_attach_queue(pl->pipe, pl->queue);
	for (size_t n = pipeline_jobs(0); rc == 0 && n > 0; n--)
		rc = pipeline_start(pl->pipe, compare_stage, pl);
	if (rc != 0)
		return pipeline_join(pl->pipe, e);
	pipeline_attach(pl->pipe, on_failed, pl);
	return 0;
}

int
planner_new(struct planner **out, const struct planner_config *cfg, struct err *e)
{
	struct planner *pl = calloc(1, sizeof *pl);

	if (pl == NULL)
		return err_nomem(e, "the comparison");
	pl->cfg = *cfg;
	pl->queue = queue_new(cfg->buffers);
	pl->plans = calloc(cfg->buffers, sizeof *pl->plans);
	pl->pipe = pipeline_new();
	int rc = pl->queue == NULL || pl->plans == NULL || pl->pipe == NULL
	             ? err_nomem(e, "the comparison; use fewer chunks with -C")
	             : start(pl, e);
	if (rc != 0) {
		planner_free(pl);
		return -1;
	}
	*out = pl;
	return 0;
}

void
planner_put(struct planner *pl, uint32_t buf, const struct blockmap *here)
{
	struct plan *p = &pl->plans[buf];

	sink_part_free(&p->part);
	*p = (struct plan){ .here = *here };
	queue_put(pl->queue, p);
}

struct plan *
planner_plan(struct planner *pl, uint32_t buf)
{
	return &pl->plans[buf];
}

int
planner_stop(struct planner *pl, struct err *e)
{
	if (pl == NULL || pl->queue == NULL || pl->pipe == NULL)
		return 0;
	queue_cancel(pl->queue);
	int rc = pipeline_join(pl->pipe, e);
	pipeline_free(pl->pipe);
	pl->pipe = NULL;
	return rc;
}

void
planner_free(struct planner *pl)
{
	struct err ignored;

	if (pl == NULL)
		return;
	planner_stop(pl, &ignored);
	for (uint32_t i = 0; pl->plans != NULL && i < pl->cfg.buffers; i++)
		sink_part_free(&pl->plans[i].part);
	queue_free(pl->queue);
	free(pl->plans);
	pipeline_free(pl->pipe);
	free(pl);
}
