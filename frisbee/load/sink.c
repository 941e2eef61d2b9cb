/* The thread that takes complete chunks, and what the client's loop calls to hand them over.
 * sink_main() and what it calls run in the thread, all else in the loop's. */
#include "common/base/cancel.h"
#include "frisbee/load/sink_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/disk/output.h"

static size_t
memory_bytes(const struct sink *s)
{
	return (size_t)s->cfg.buffers * NDZ_CHUNK_BYTES;
}

uint8_t *
sink_buffer(struct sink *s, uint32_t buf)
{
	return s->memory + (size_t)buf * NDZ_CHUNK_BYTES;
}

static int
store(struct sink *s, struct filled *f, struct err *e)
{
	if (sink_prove(s, f, e) != 0)
		return sink_send_back(s, f, e);
	s->next = f->chunk + 1;
	if (s->rehearsal != NULL)
		return sink_rehearse(s, f, e);
	if (s->only && sink_learn(s, f, e) != 0) {
		mailbox_put(s->box, SINK_FREE, (uint32_t)(f - s->filled));
		return -1;
	}
	return sink_pass_on(s, f, e);
}

/* Those behind a chunk that comes again wait for it. */
static int
store_in_order(struct sink *s, struct filled *f, struct err *e)
{
	struct filled **place = &s->waiting[f->chunk % s->cfg.buffers];
	int rc = 0;

	for (*place = f; rc == 0; place = &s->waiting[s->next % s->cfg.buffers]) {
		f = *place;
		if (f == NULL || f->chunk != s->next)
			break;
		*place = NULL;
		rc = store(s, f, e);
		if (s->next == f->chunk)
			break;
	}
	return rc;
}

/* The first error of the install threads is the reason, not that the feeder
 * was cancelled because of it. */
static void
note_failure(struct sink *s, struct err *e)
{
	struct err first;

	planner_stop(s->planner); /* it reads the target */
	if (s->install != NULL && install_failed(s->install)) {
		struct install *in = s->install;
		s->install = NULL;
		if (install_finish(in, &s->stats, &first) != 0)
			*e = first;
	}
	s->err = *e;
	s->failed = true;
}

static void *
sink_main(void *arg)
{
	struct sink *s = arg;
	struct err e;
	void *p;
	enum queue_rc got;
	int rc = 0;

	while (rc == 0 && (got = queue_get(s->queue, &p)) == QUEUE_OK)
		rc = s->waiting != NULL ? store_in_order(s, p, &e) : store(s, p, &e);
	if (rc == 0 && got == QUEUE_END)
		rc = sink_complete(s, &e);
	else if (rc == 0 && s->install != NULL && install_failed(s->install))
		rc = err_set(&e, ERR_CANCELLED, "not complete");
	else if (rc == 0)
		return NULL; /* given up by the caller */
	if (rc != 0)
		note_failure(s, &e);
	mailbox_put(s->box, rc == 0 ? SINK_DONE : SINK_FAILED, 0);
	return NULL;
}

int
sink_new(struct sink **out, const struct sink_config *cfg, struct mailbox *box,
    struct err *e)
{
	struct sink *s = calloc(1, sizeof *s);

	if (s == NULL)
		return err_nomem(e, "the client");
	s->cfg = *cfg;
	s->box = box;
	pthread_mutex_init(&s->lock, NULL);
	s->filled = calloc(cfg->buffers, sizeof *s->filled);
	s->held = calloc(cfg->buffers, sizeof(struct filled *));
	s->queue = queue_new(cfg->buffers);
	s->memory = mmap(NULL, memory_bytes(s), PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (s->memory == MAP_FAILED)
		s->memory = NULL;
	int rc = s->filled == NULL || s->held == NULL || s->queue == NULL ||
	                 s->memory == NULL
	             ? err_nomem(e, "chunk buffers; -C takes fewer")
	             : sink_open_target(s, e);
	if (rc == 0) {
		errno = thread_start(&s->thread, sink_main, s);
		rc = errno != 0 ? err_os(e, "cannot start a thread") : 0;
		s->started = rc == 0;
	}
	if (rc != 0) {
		struct err ignored;
		struct install_stats none;
		sink_close(s, &none, &ignored);
		return -1;
	}
	*out = s;
	return 0;
}

bool
sink_has(void *sink, uint32_t chunk)
{
	const struct sink *s = sink;

	if (s->rehearsal != NULL || s->only)
		return chunk != 0;
	return s->install != NULL && install_has(s->install, chunk);
}

bool
sink_resumes(const struct sink *s)
{
	return s->rehearsal != NULL ||
	       (s->install != NULL && (s->only || install_resumes(s->install)));
}

bool
sink_in_order(const struct sink *s)
{
	if (s->rehearsal != NULL)
		return false;
	return s->install != NULL ? install_in_order(s->install)
	                          : disk_kind(s->file) == DISK_STREAM;
}

bool
sink_waits(const struct sink *s)
{
	return s->install != NULL && install_waits(s->install);
}

void
sink_expect(struct sink *s, uint32_t nchunks)
{
	if (!sink_is_image(s))
		return;
	if (s->install != NULL)
		install_expect(s->install, nchunks);
	free(s->damaged);
	s->damaged = calloc(nchunks, sizeof *s->damaged);
	s->nchunks = nchunks;
}

void
sink_put(struct sink *s, uint32_t chunk, uint32_t buf, uint32_t bytes,
    const uint8_t *parity_at)
{
	struct filled *f = &s->filled[buf];

	f->chunk = chunk;
	f->bytes = bytes;
	f->parity = parity_at != NULL;
	f->planned = f->partial = false;
	if (f->parity)
		memcpy(f->parity_at, parity_at, sizeof f->parity_at);
	queue_put(s->queue, &s->filled[buf]);
}

bool
sink_takes_parts(const struct sink *s)
{
	return s->planner != NULL;
}

void
sink_plan(struct sink *s, uint32_t buf, const struct blockmap *here)
{
	planner_put(s->planner, buf, here);
}

const struct blockmap *
sink_planned(const struct sink *s, uint32_t buf, bool *final)
{
	const struct plan *p = planner_plan(s->planner, buf);

	*final = p->final;
	return &p->need;
}

void
sink_put_planned(struct sink *s, uint32_t chunk, uint32_t buf, uint32_t bytes,
    const struct blockmap *here)
{
	const struct plan *p = planner_plan(s->planner, buf);
	struct blockmap lack = blockmap_minus(p->digested, here);
	struct filled *f = &s->filled[buf];

	f->chunk = chunk;
	f->bytes = bytes;
	f->parity = false;
	f->planned = p->final && p->same != NULL;
	f->partial = f->planned && !blockmap_empty(&lack);
	queue_put(s->queue, f);
}

const struct blockmap *
sink_damaged(const struct sink *s, uint32_t buf)
{
	return &s->filled[buf].bad;
}

const struct err *
sink_damage(const struct sink *s, uint32_t buf, uint32_t *chunk)
{
	*chunk = s->filled[buf].chunk;
	return &s->filled[buf].why;
}

void
sink_end(struct sink *s)
{
	queue_close(s->queue);
}

int
sink_close(struct sink *s, struct install_stats *stats, struct err *e)
{
	struct err ignored;

	if (s->started) {
		queue_cancel(s->queue);
		pthread_join(s->thread, NULL);
	}
	planner_stop(s->planner);
	bool unfinished = s->install != NULL || s->file != NULL ||
	                  s->rehearsal != NULL;
	rehearsal_free(s->rehearsal);
	install_abort(s->install);
	disk_close(s->file, &ignored);
	if (s->cfg.install.guard != NULL)
		s->cfg.install.guard(NULL, NULL);
	if (unfinished && s->removable && s->started)
		output_remove(s->cfg.target);
	*stats = s->stats;
	int rc = 0;
	if (planner_failed(s->planner, e)) {
		rc = -1;
	} else if (s->failed) {
		*e = s->err;
		rc = -1;
	} else if (unfinished) {
		rc = err_set(e, ERR_CANCELLED, "not complete");
	}
	if (s->memory != NULL)
		munmap(s->memory, memory_bytes(s));
	queue_free(s->queue);
	proof_free(s->proof);
	planner_free(s->planner);
	free(s->damaged);
	free(s->waiting);
	decoder_free(s->decoder);
	pthread_mutex_destroy(&s->lock);
	free(s->wants);
	free(s->filled);
	free(s->held);
	free(s);
	return rc;
}
