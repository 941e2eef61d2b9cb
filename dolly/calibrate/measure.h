/* measure.h: how fast one way of working goes, by the clock and by the processor. */
#ifndef DOLLY_CALIBRATE_MEASURE_H
#define DOLLY_CALIBRATE_MEASURE_H

#include <stdint.h>

#include "common/base/err.h"

/* What was done, and what it took. */
struct measured {
	double bytes;
	double wall_s; /* by the clock */
	double cpu_s;  /* of the processor, by the threads that did the work */
};

/* One piece of the work, which takes a few milliseconds; adds the bytes of it to
 * *bytes. Returns 0, or -1 with the error. */
typedef int measure_step_fn(void *arg, double *bytes, struct err *);

/* Repeats the step in this thread for `seconds` (> 0), and at least once.  Errors
 * of the step; ERR_CANCELLED. */
int measure_repeat(
    struct measured *, double seconds, measure_step_fn *, void *arg, struct err *);
/* Calls measure_repeat() in several threads at once, in thread i with args[i]; the bytes and the
 * processor's seconds are sums, the clock's seconds are those of the slowest thread.
 * ERR_NOMEM, ERR_IO: a thread cannot be started. */
int measure_threads(struct measured *, double seconds, measure_step_fn *, void **args,
    unsigned threads, struct err *);

/* Bytes a second of the processor that the work would reach if it had one processor for
 * itself. */
double measured_cpu_rate(const struct measured *);
/* Seconds of the processor that the calling thread has had. */
double measure_cpu_s(void);

#endif /* DOLLY_CALIBRATE_MEASURE_H */
