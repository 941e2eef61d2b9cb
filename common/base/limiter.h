/* limiter.h: how often lines of one kind are written, so that what repeats itself, or
 * what strangers cause, does not fill a log.  Whoever has the struct, zeros at first,
 * gives it one lock or thread. */
#ifndef COMMON_BASE_LIMITER_H
#define COMMON_BASE_LIMITER_H

#include <stdbool.h>
#include <stdint.h>

struct limiter {
	uint64_t since_us;    /* when the first of n was written */
	unsigned n, left_out; /* since then */
};

/* May one more line be written now, when `most` (1 or more) may be in span_us?
 * *left_out: how many lines could not, in the span that has ended with this call; 0
 * while a span goes on. */
bool limiter_may(struct limiter *, uint64_t now_us, uint64_t span_us, unsigned most,
    unsigned *left_out);

#endif /* COMMON_BASE_LIMITER_H */
