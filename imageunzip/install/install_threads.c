/* install_threads.c: the threads of an installation: decoders in parallel, and the writer,
 * which lets the disk work on one chunk while the next one's writes are on their way.
 * install_open.c starts them, install.c hands jobs over in the thread that feeds, and
 * install_end.c stops them. */
#include <unistd.h>

#include "common/base/ordered.h"
#include "common/base/pipeline.h"
#include "common/base/pool.h"
#include "imageunzip/install/install_impl.h"
#include "imageunzip/install/job.h"

enum {
	BUFFER_BYTES = 16 << 20, /* as much data as a chunk of this suite holds */
	BUFFER_MIN_BYTES = 1 << 20,
	SPARE_BUFFERS = 3, /* two being written, one waiting */
	GENTLE_NICE = 10,
};

/* Give a job's buffer back, and free the job. */
void
install_retire(struct job *j)
{
	if (j->raw != NULL)
		pool_put(j->place->in->raws, j->raw);
	job_free(j);
}

static int
launch(struct job *j, struct decoder *dec, struct err *e)
{
	struct place *p = j->place;

	return resume_claim(&p->resume, j->at, j->number, e) == 0
	           ? job_launch(j, &p->target, dec, e)
	           : -1;
}

static int
settle_job(struct job *j, struct err *e)
{
	struct place *p = j->place;

	if (job_settle(j, &p->target, e) != 0)
		return -1;
	p->in->chunks++;
	return resume_note(&p->resume, j, e);
}

static int
write_job(struct job *j, struct decoder *dec, struct err *e)
{
	return launch(j, dec, e) == 0 ? settle_job(j, e) : -1;
}

/* Lower the thread's priority: on Linux, nice(2) changes the calling thread alone.  When it
 * fails, the thread competes with the network, which is slower, not wrong. */
void
install_give_way(const struct install *in)
{
	if (in->cfg.gentle && nice(GENTLE_NICE) == -1)
		return; /* the thread keeps its priority */
}

/* Check that the disk holds what the chunk of a delta replaces. The samples of chunk 0
 * were compared before anything was written, and are not compared again; neither are those
 * of other chunks when all could be read before. */
static int
check_base(const struct job *j, struct err *e)
{
	struct place *p = j->place;

	if (p->gate.all_compared || (j->number == 0 && p->gate.compared) ||
	    gate_check_chunk(&p->gate, &p->target, &j->c, j->at->nregions > 0, e) == 0)
		return 0;
	return err_ctx(e, "chunk %u", j->number);
}

static int
decoder_stage(void *arg, struct err *e)
{
	struct install *in = arg;
	struct decoder *dec = decoder_new();
	void *item;
	size_t ticket;
	int rc = 0;

	install_give_way(in);
	if (dec == NULL)
		return err_nomem(e, "a decoder");
	while (rc == 0 && ordered_begin(in->work, &item, &ticket) == QUEUE_OK) {
		struct job *j = item;
		rc = job_decode(j, &j->place->target, dec, e);
		if (rc == 0)
			rc = check_base(j, e);
		if (rc == 0 && in->cfg.no_writer)
			rc = write_job(j, dec, e);
		/* A job is handed on even after a failure: the writer takes it to free it. */
		if (rc != 0)
			pipeline_fail(in->pipe, e);
		ordered_done(in->work, ticket);
	}
	decoder_free(dec);
	return rc;
}

/* The jobs that are being written, the oldest first: while the disk works on one job, the
 * next job's writes are started. */
struct flying {
	struct job *first, **end;
};

static int
settle_oldest(struct flying *f, struct err *e)
{
	struct job *j = f->first;
	int rc = settle_job(j, e);

	if (rc != 0)
		return -1; /* other writes of the job may be in flight */
	f->first = j->next;
	if (f->first == NULL)
		f->end = &f->first;
	install_retire(j);
	return 0;
}

/* Start to write a job. Jobs in flight that overlap it are settled first, because of two
 * chunks with the same sectors the later one counts. */
static int
launch_next(struct install *in, struct flying *f, struct job *j, struct err *e)
{
	int rc = 0;

	for (const struct job *k = f->first; rc == 0 && k != NULL;)
		if (job_overlaps(j, k)) {
			rc = settle_oldest(f, e);
			k = f->first;
		} else {
			k = k->next;
		}
	j->next = NULL;
	*f->end = j;
	f->end = &j->next;
	if (rc != 0 || launch(j, in->writer_decoder, e) != 0)
		return -1;
	return j->place->target.flight == NULL ? settle_oldest(f, e) : 0;
}

/* After a failure, wait for all writes: their buffers are about to be freed. */
static void
land_all(struct install *in, struct flying *f)
{
	struct err later;

	for (unsigned i = 0; i < in->n; i++)
		target_land(&in->place[i].target, &later);
	for (struct job *j = f->first, *next; j != NULL; j = next) {
		next = j->next;
		install_retire(j);
	}
}

static int
writer_stage(void *arg, struct err *e)
{
	struct install *in = arg;
	struct flying f = { NULL, &f.first };
	void *item;
	int rc = 0;

	install_give_way(in);
	while (rc == 0) {
		if (f.first != NULL && !ordered_ready(in->work)) {
			rc = settle_oldest(&f, e);
			continue;
		}
		if (ordered_take(in->work, &item) != QUEUE_OK)
			break;
		if (in->cfg.no_writer)
			install_retire(item);
		else
			rc = launch_next(in, &f, item, e);
	}
	land_all(in, &f);
	return rc;
}

static unsigned
decoders(const struct install_config *cfg)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return cfg->jobs != 0 ? (unsigned)cfg->jobs : n > 0 ? (unsigned)n : 1;
}

int
install_threads_start(struct install *in, struct err *e)
{
	unsigned n = decoders(&in->cfg), buffers = n + SPARE_BUFFERS;

	in->raw_bytes = BUFFER_BYTES;
	if (in->cfg.write_mb != 0)
		in->raw_bytes = (in->cfg.write_mb << 20) / buffers;
	while (in->raw_bytes < BUFFER_MIN_BYTES && buffers > 1)
		in->raw_bytes = (in->cfg.write_mb << 20) / --buffers;
	in->raws = pool_new(buffers, in->raw_bytes);
	in->work = ordered_new(buffers);
	in->pipe = pipeline_new();
	in->writer_decoder = decoder_new();
	if (in->raws == NULL || in->work == NULL || in->pipe == NULL ||
	    in->writer_decoder == NULL || !install_decode_prepare(in, buffers))
		return err_nomem(e, "install buffers; use less memory with -W");
	pipeline_attach_ordered(in->pipe, in->work);
	pipeline_attach_pool(in->pipe, in->raws);
	if (in->cfg.failed != NULL)
		pipeline_attach(in->pipe, in->cfg.failed, in->cfg.failed_arg);
	int rc = pipeline_start(in->pipe, writer_stage, in);
	for (unsigned i = 0; i < n && rc == 0; i++)
		rc = pipeline_start(in->pipe, decoder_stage, in);
	for (unsigned i = 0; i < n && rc == 0 && install_decodes(in); i++)
		rc = pipeline_start(in->pipe, install_proving_stage, in);
	return rc == 0 ? 0 : pipeline_join(in->pipe, e);
}

int
install_submit(struct job *j, struct err *e)
{
	struct install *in = j->place->in;

	if (j->raw == NULL && pool_get(in->raws, &j->raw) != QUEUE_OK) {
		j->raw = NULL;
		install_retire(j);
		return err_set(e, ERR_CANCELLED, "cancelled");
	}
	if (ordered_submit(in->work, j) != QUEUE_OK) {
		install_retire(j);
		return err_set(e, ERR_CANCELLED, "cancelled");
	}
	return 0;
}

/* Wait for the threads, and free what a failure left in the pipeline. */
int
install_threads_stop(struct install *in, struct err *e)
{
	void *item;

	ordered_close(in->work);
	if (in->to_decode != NULL)
		queue_close(in->to_decode);
	int rc = pipeline_join(in->pipe, e);
	install_decode_stop(in);
	while (ordered_drain(in->work, &item))
		install_retire(item);
	return rc;
}
