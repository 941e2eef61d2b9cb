/* measure_cpu.h: how fast the processors and the memory do what a node does with its
 * data. */
#ifndef DOLLY_CALIBRATE_MEASURE_CPU_H
#define DOLLY_CALIBRATE_MEASURE_CPU_H

#include <stddef.h>

#include "dolly/calibrate/measure.h"

/* Fills memory with bytes that no disk or link can compress, the same ones in each run.
 */
void fill_with_noise(void *to, size_t n);

/* Copies from memory to memory, in areas larger than the caches: by one thread; by
 * `threads` threads at once.  ERR_NOMEM; ERR_IO: no thread; ERR_CANCELLED. */
int measure_copy(struct measured *, double seconds, struct err *);
int measure_copies(struct measured *, double seconds, unsigned threads, struct err *);
/* Computes SHA-256, by one thread, of pieces of 1 MiB.  ERR_NOMEM; ERR_CANCELLED. */
int measure_digest(struct measured *, double seconds, struct err *);
/* Decompresses by the codec that images have by default, by one thread.  What is
 * compressed is the beginning of this program's own file, which compresses about as
 * well as the files of a system's disk do.  The bytes are those that come out;
 * *compression is how many of them there are for each byte that goes in.  ERR_IO: the
 * program's file cannot be read; ERR_NOMEM; ERR_CANCELLED. */
int measure_decompress(
    struct measured *, double seconds, double *compression, struct err *);

#endif /* DOLLY_CALIBRATE_MEASURE_CPU_H */
