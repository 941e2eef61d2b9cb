/* progress.h: one line on the terminal that says how far a long run is:
 * "imagezip:  41 %  1.5 GB, 340 MB/s, 0:41 left", cut to the terminal's width.
 *
 * The line is shown only on a terminal that draws, at most ten times a second, and a sentence
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
/* progress_total() and progress_at(), for functions that tell how far they are: `progress` is a
 * struct progress. */
void progress_of(void *progress, uint64_t done, uint64_t total);
/* The run has ended: print the last line to the descriptor, or remove it from the terminal. */
void progress_end(struct progress *, uint64_t done);

/* For programs whose progress is none of bytes: put this line onto the terminal, in the place of
 * the one that stands there.  Nothing where stderr is no terminal that draws. */
void progress_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif /* COMMON_CLI_PROGRESS_H */
