/* progress.h: one line on the terminal that says how far a long run is.
 *
 * The line is shown only when stderr is a terminal, at most ten times a second, and a sentence
 * that is printed meanwhile takes its place (say.h).  With
 * --progress=FD, plain lines "DONE TOTAL\n" (bytes) are written to that descriptor instead,
 * once a second at most and at the end.  A struct progress is used by one thread at a time.
 */
#ifndef COMMON_CLI_PROGRESS_H
#define COMMON_CLI_PROGRESS_H

#include <stdint.h>

struct progress {
	const char *what; /* what the line begins with: "imagezip"; borrowed */
	uint64_t total;   /* bytes; 0: unknown */
	int fd;           /* -1: the terminal */
	int shown;        /* 0: there is nothing to print to */
	uint64_t started_us, last_us; /* times of the beginning and of the last line */
};

/* Begin a run of `total` bytes (0: unknown).  fd < 0: print to the terminal if stderr is one.
 * quiet: print nothing at all, unless fd is given. */
void progress_begin(
    struct progress *, const char *what, uint64_t total, int fd, int quiet);
/* `done` bytes are done: print it if it is time to. */
void progress_at(struct progress *, uint64_t done);
/* Set the total, in bytes, when it becomes known after progress_begin(). */
void progress_total(struct progress *, uint64_t total);
/* The run has ended: print the last line, or remove it from the terminal. */
void progress_end(struct progress *, uint64_t done);

#endif /* COMMON_CLI_PROGRESS_H */
