#include "frisbee/sink.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/cli_guard.h"
#include "common/base/queue.h"
#include "common/disk/disk.h"
#include "common/disk/output.h"
#include "common/ndz/chunk.h"
#include "common/ndz/format.h"
#include "common/net/parity.h"
#include "frisbee/partial.h"
#include "frisbee/planner.h"

/* A chunk that is damaged is asked for again, but not for ever: then its source is. */
enum { TIMES_MAX = 4 };

struct filled {
	uint32_t chunk, bytes;
	bool parity;
	bool planned, partial; /* compared before; not all of it is here */
	uint8_t parity_at[WIRE_CHUNK_BLOCKS];
	struct blockmap bad;
};

struct sink {
	struct sink_config cfg;
	struct mailbox *box;
	struct queue *queue;   /* of &filled[buf] */
	struct filled *filled; /* by buffer */
	uint8_t *memory;       /* all buffers */
	pthread_t thread;
	bool started;
	struct install *install; /* NULL with -N */
	struct planner *planner; /* or NULL */
	struct proof *proof;     /* or NULL; the thread's */
	struct disk *file;       /* -N */
	uint64_t file_bytes;
	bool removable; /* when it does not get whole */
	bool repairs;   /* damaged chunks are asked for again */
	uint8_t *times; /* by chunk: it came damaged; NULL: not known */
	uint32_t nchunks;
	struct install_stats stats;
	bool failed; /* with err; read after the join */
	struct err err;
};

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

/* Called by install's threads, once for each chunk. */
static void
released(void *arg, const void *chunk)
{
	struct sink *s = arg;

	mailbox_put(
	    s->box, (uint32_t)(((const uint8_t *)chunk - s->memory) / NDZ_CHUNK_BYTES));
}

static int
install_planned(struct sink *s, const struct filled *f, struct err *e)
{
	uint32_t buf = (uint32_t)(f - s->filled);
	struct plan *p = planner_plan(s->planner, buf);
	bool *same = p->same;

	p->same = NULL;
	return install_feed_compared(s->install, f->chunk, sink_buffer(s, buf), same,
	    f->partial, released, s, e);
}

/* Of a chunk that is not all here, each fragment that came has a digest. */
static int
check_others(struct sink *s, struct filled *f, struct err *e)
{
	uint32_t buf = (uint32_t)(f - s->filled);
	const uint8_t *bytes = sink_buffer(s, buf);
	struct chunk c;

	f->bad = blockmap_range(0, WIRE_CHUNK_BLOCKS);
	if (chunk_parse(&c, bytes, e) != 0)
		return e->kind != ERR_FORMAT;
	f->bad = partial_damaged_others(&c, bytes, planner_plan(s->planner, buf)->same);
	chunk_free(&c);
	if (blockmap_empty(&f->bad))
		return 1;
	err_set(e, ERR_FORMAT, "the digest of a fragment differs");
	return 0;
}

/* 1 the chunk is what its digest says, or nothing is known; 0 it is damaged, as *e
 * says, in the blocks f->bad. */
static int
check_digest(struct sink *s, struct filled *f, struct err *e)
{
	const uint8_t *bytes = sink_buffer(s, (uint32_t)(f - s->filled));
	struct chunk c;

	if (!s->repairs)
		return 1;
	if (f->partial)
		return check_others(s, f, e);
	f->bad = blockmap_range(0, WIRE_CHUNK_BLOCKS);
	int rc = ndz_header_get(&c.h, bytes, NDZ_CHUNK_BYTES, e);
	if (rc == 0 && c.h.encrypted)
		return 1; /* that proves itself */
	if (rc != 0 || chunk_parse(&c, bytes, e) != 0)
		return e->kind != ERR_FORMAT;
	rc = chunk_check_digest(&c, bytes, e);
	if (rc != 0)
		f->bad = partial_damaged(&c, bytes);
	chunk_free(&c);
	return rc == 0;
}

/* It is to come again, or has come too often.  From the second time on all of it: no
 * digest covers every block (padding), and parity spreads what is wrong in one. */
static int
send_back(struct sink *s, struct filled *f, struct err *e)
{
	uint32_t buf = (uint32_t)(f - s->filled);
	unsigned times = TIMES_MAX;

	if (s->times != NULL && f->chunk < s->nchunks)
		times = ++s->times[f->chunk];
	if (times >= TIMES_MAX) {
		mailbox_put(s->box, buf);
		return err_ctx(e, "chunk %u, which came %u times", f->chunk, times);
	}
	if (times > 1)
		f->bad = blockmap_range(0, WIRE_CHUNK_BLOCKS);
	mailbox_put(s->box, 2 * s->cfg.buffers + 2 + buf);
	return 0;
}

static int
store(struct sink *s, struct filled *f, struct err *e)
{
	uint32_t buf = (uint32_t)(f - s->filled);

	if (f->parity && parity_decode(sink_buffer(s, buf), f->parity_at, e) != 0) {
		mailbox_put(s->box, buf);
		return err_ctx(e, "chunk %u", f->chunk);
	}
	if (check_digest(s, f, e) == 0)
		return send_back(s, f, e);
	if (proof_chunk(s->proof, f->chunk, sink_buffer(s, buf), e) != 0) {
		mailbox_put(s->box, buf);
		return err_ctx(e, "chunk %u", f->chunk);
	}
	if (f->planned)
		return install_planned(s, f, e);
	if (s->install != NULL)
		return install_feed(
		    s->install, f->chunk, sink_buffer(s, buf), released, s, e);
	int rc = disk_write(s->file, sink_buffer(s, buf), f->bytes,
	    (uint64_t)f->chunk * NDZ_CHUNK_BYTES, e);
	s->file_bytes += f->bytes;
	mailbox_put(s->box, buf);
	return rc;
}

static int
complete(struct sink *s, struct err *e)
{
	if (s->install != NULL) {
		struct install *in = s->install;
		s->install = NULL;
		return install_finish(in, &s->stats, e);
	}
	s->stats.bytes_written = s->stats.bytes_covered = s->file_bytes;
	int rc = disk_sync(s->file, e);
	struct err closing;
	if (disk_close(s->file, rc == 0 ? e : &closing) != 0)
		rc = -1;
	s->file = NULL;
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
		rc = store(s, p, &e);
	if (rc == 0 && got == QUEUE_END)
		rc = complete(s, &e);
	else if (rc == 0 && s->install != NULL && install_failed(s->install))
		rc = err_set(&e, ERR_CANCELLED, "not complete");
	else if (rc == 0)
		return NULL; /* given up by the caller */
	if (rc != 0)
		note_failure(s, &e);
	mailbox_put(s->box, s->cfg.buffers + (rc == 0));
	return NULL;
}

/* What was written in the background failed: nothing may be on its way here that would
 * find out, for whoever has no room asks for nothing. */
static void
stop_waiting(void *queue)
{
	queue_cancel(queue);
}

static void
planned(void *arg, uint32_t buf)
{
	struct sink *s = arg;

	mailbox_put(s->box, s->cfg.buffers + 2 + buf);
}

static void
planner_gave_up(void *arg)
{
	struct sink *s = arg;

	mailbox_put(s->box, s->cfg.buffers);
}

/* A signature is of the whole chunk, and what is encrypted says nothing by parts. */
static int
open_install(struct sink *s, struct err *e)
{
	struct install_config in = s->cfg.install;

	in.failed = stop_waiting;
	in.failed_arg = s->queue;
	if (install_open(&s->install, &in, s->cfg.target, e) != 0) {
		s->install = NULL;
		return -1;
	}
	/* In order, the chunks behind it are on their way already. */
	s->repairs = !install_in_order(s->install);
	if (s->repairs)
		install_trust_digests(s->install);
	if (!in.skip_same || in.state != NULL || s->proof != NULL)
		return 0;
	struct planner_config pc = { .install = s->install,
		.buffers = s->cfg.buffers,
		.memory = s->memory,
		.planned = planned,
		.failed = planner_gave_up,
		.arg = s };
	return planner_new(&s->planner, &pc, e);
}

static void
tidy(void *new_file)
{
	output_remove(new_file);
}

static int
open_target(struct sink *s, struct err *e)
{
	if (s->cfg.any_file && (s->cfg.install.proof.verify_key != NULL ||
				   s->cfg.install.proof.decrypt != NULL))
		return err_set(e, ERR_USAGE,
		    "-N excludes --verify-key and --decrypt: it loads any file");
	if (proof_new(&s->proof, &s->cfg.install.proof, e) != 0)
		return -1;
	if (!s->cfg.any_file)
		return open_install(s, e);
	if (disk_open(&s->file, s->cfg.target,
		DISK_WRITE | DISK_CREATE | DISK_TRUNC |
		    (s->cfg.install.force ? DISK_FORCE : 0),
		e) != 0)
		return -1;
	s->removable = disk_kind(s->file) == DISK_FILE &&
	               strcmp(s->cfg.target, "-") != 0;
	cli_guard_set(s->removable ? tidy : NULL, (void *)(uintptr_t)s->cfg.target);
	return 0;
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
	s->filled = calloc(cfg->buffers, sizeof *s->filled);
	s->queue = queue_new(cfg->buffers);
	s->memory = mmap(NULL, memory_bytes(s), PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (s->memory == MAP_FAILED)
		s->memory = NULL;
	int rc = s->filled == NULL || s->queue == NULL || s->memory == NULL
	             ? err_nomem(e, "chunk buffers; -C takes fewer")
	             : open_target(s, e);
	if (rc == 0) {
		errno = pthread_create(&s->thread, NULL, sink_main, s);
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

	return s->install != NULL && install_has(s->install, chunk);
}

bool
sink_resumes(const struct sink *s)
{
	return s->install != NULL && install_resumes(s->install);
}

bool
sink_in_order(const struct sink *s)
{
	return s->install != NULL ? install_in_order(s->install)
	                          : disk_kind(s->file) == DISK_STREAM;
}

void
sink_expect(struct sink *s, uint32_t nchunks)
{
	if (s->install == NULL)
		return;
	install_expect(s->install, nchunks);
	s->times = calloc(nchunks, sizeof *s->times);
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
	bool unfinished = s->install != NULL || s->file != NULL;
	install_abort(s->install);
	disk_close(s->file, &ignored);
	cli_guard_set(NULL, NULL);
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
	free(s->times);
	free(s->filled);
	free(s);
	return rc;
}
