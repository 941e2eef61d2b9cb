/* progress.h: one line on the terminal that says how far a long run is.
 *
 * Shown only when stderr is a terminal, at most ten times a second; with
 * --progress=FD as plain lines "DONE TOTAL\n" (bytes) to that descriptor, once
 * a second and at the end.  May be called from any one thread at a time.
 */
#ifndef COMMON_CLI_PROGRESS_H
#define COMMON_CLI_PROGRESS_H

#include <stdint.h>

struct progress {
	const char *what; /* "imagezip" */
	uint64_t total;   /* bytes; 0: unknown */
	int fd;           /* -1: the terminal */
	int shown;        /* 0: there is nothing to print to */
	uint64_t started_us, last_us;
};

/* fd < 0: print to the terminal if there is one.  quiet: print nothing at all, unless fd is
 * given. */
void progress_begin(
    struct progress *, const char *what, uint64_t total, int fd, int quiet);
void progress_at(struct progress *, uint64_t done);
/* The total is known by now. */
void progress_total(struct progress *, uint64_t total);
/* Remove the line from the terminal, because a sentence is about to be written to stderr. */
void progress_clear(const struct progress *);
void progress_end(struct progress *, uint64_t done);

#endif /* COMMON_CLI_PROGRESS_H */
