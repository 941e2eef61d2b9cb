/* measure.c: repeats a piece of work for a given time, and says what was done
 * (measure.h).  The other files of this folder call it, in the program's first thread
 * or in threads that measure_threads() starts. */
#include "dolly/calibrate/measure.h"

#include <stdlib.h>
#include <time.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/pipeline.h"

/* No work is free: a thread whose share of the processor is too small to be seen is
 * taken to have had this share of it. */
#define CPU_SHARE_MIN 0.0001

double
measure_cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int
measure_repeat(
    struct measured *m, double seconds, measure_step_fn *step, void *arg, struct err *e)
{
	uint64_t start = clock_us(), end = start + (uint64_t)(seconds * 1e6);
	double cpu_s = measure_cpu_s();

	*m = (struct measured){ 0 };
	do {
		if (cancel_check(e) != 0 || step(arg, &m->bytes, e) != 0)
			return -1;
	} while (clock_us() < end);
	m->wall_s = (double)(clock_us() - start) / 1e6;
	m->cpu_s = measure_cpu_s() - cpu_s;
	return 0;
}

double
measured_cpu_rate(const struct measured *m)
{
	double least_s = m->wall_s * CPU_SHARE_MIN;

	return m->bytes / (m->cpu_s > least_s ? m->cpu_s : least_s);
}

/* One of several threads. */
struct worker {
	struct measured m;
	double seconds;
	measure_step_fn *step;
	void *arg;
};

static int
work(void *arg, struct err *e)
{
	struct worker *w = arg;

	return measure_repeat(&w->m, w->seconds, w->step, w->arg, e);
}

static void
add(struct measured *sum, const struct measured *m)
{
	sum->bytes += m->bytes;
	sum->cpu_s += m->cpu_s;
	if (m->wall_s > sum->wall_s)
		sum->wall_s = m->wall_s;
}

int
measure_threads(struct measured *sum, double seconds, measure_step_fn *step,
    void **args, unsigned threads, struct err *e)
{
	struct worker *w = calloc(threads, sizeof *w);
	struct pipeline *p = pipeline_new();
	int rc = 0;

	*sum = (struct measured){ 0 };
	if (w == NULL || p == NULL) {
		free(w);
		pipeline_free(p);
		return err_nomem(e, "threads");
	}
	for (unsigned i = 0; rc == 0 && i < threads; i++) {
		w[i] = (struct worker){
			.seconds = seconds, .step = step, .arg = args[i]
		};
		rc = pipeline_start(p, work, &w[i]);
	}
	rc = pipeline_join(p, e);
	for (unsigned i = 0; i < threads; i++)
		add(sum, &w[i].m);
	pipeline_free(p);
	free(w);
	return rc;
}
