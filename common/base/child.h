/* child.h: runs another program beside this one, and reads what it prints. */
#ifndef COMMON_BASE_CHILD_H
#define COMMON_BASE_CHILD_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"

struct child;

/* Start a program.  argv[0] is looked for in PATH and borrowed; argv is NULL-terminated.  The
 * program has no standard input, and terminal signals do not reach it.  The last line that it
 * prints to standard error is kept, or, as long as there is none, to standard output.
 * ERR_ABSENT: it is not installed; ERR_IO: it cannot be started; ERR_NOMEM. */
int child_start(struct child **, const char *const argv[], struct err *);
enum child_stream { CHILD_OUTPUT, CHILD_ERRORS };
/* Is called with each line that a program prints, and whether that was standard output or
 * standard error, in a thread that reads them. */
typedef void (*child_line_fn)(void *arg, enum child_stream, const char *line);
/* From now on, call tell() with arg and each line that the program prints. */
void child_tell(struct child *, child_line_fn tell, void *arg);
/* Whether the program still runs. */
bool child_runs(struct child *);
/* The result of a child that has ended: 0 for status 0, else ERR_IO with the line that
 * was kept. */
int child_result(struct child *, struct err *);
/* Ask the program to end, kill it after most_us microseconds, and free *c.  Returns what
 * child_result() does.  NULL is allowed, and gives 0. */
int child_end(struct child *, uint64_t most_us, struct err *);
/* child_end() after some seconds, of a program whose result does not matter. */
void child_stop(struct child *);
/* Run a program that ends by itself, and wait for its end.  Errors of child_start() and
 * child_result(). */
int child_run(const char *const argv[], struct err *);
/* child_run(), with tell(arg, line) for every line that the program prints.  ERR_CANCELLED: the
 * work of this thread is to end (cancel.h), so the program was told to end, too. */
int child_run_telling(
    const char *const argv[], child_line_fn tell, void *arg, struct err *);

#endif /* COMMON_BASE_CHILD_H */
