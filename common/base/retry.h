/* retry.h: how often, and for how long, a server is asked again that may answer later: the
 * one rule for web servers, buckets and NBD servers.
 *
 * The time that a request has counts only while no byte moves: in the silent end of each try, and in
 * the pauses between them, which grow from 0.1 s to 5 s.  So a line that is slow, and
 * moves, may take as long as it needs. */
#ifndef COMMON_BASE_RETRY_H
#define COMMON_BASE_RETRY_H

#include <stdbool.h>
#include <stdint.h>

/* A row of tries.  It begins with all zeros, but for `seconds`. */
struct retry {
	double seconds; /* that may still pass without a byte */
	unsigned tries; /* that have failed */
	uint64_t pause_ms, due_us; /* the pause before the next try, and when that begins */
};

/* A try has failed, and it was silent for so many seconds at its end.  Should another one begin, at
 * due_us by the clock of now_us?  most: how many tries there may be; 0: 30. */
bool retry_again(struct retry *, unsigned most, double silent, uint64_t now_us);

#endif /* COMMON_BASE_RETRY_H */
