/* child.h: runs another program beside this one, writes to it, and reads what it
 * prints. */
#ifndef COMMON_BASE_CHILD_H
#define COMMON_BASE_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"

struct child;

/* Pipes to the program's standard input, and from its standard output. */
enum child_pipes { CHILD_IN = 1, CHILD_OUT = 2 };

/* Start a program.  argv[0] is looked for in PATH, then beside the program that runs, and
 * is borrowed; argv is NULL-terminated.  Without CHILD_IN in `pipes` its standard input
 * is empty.  The last line that it prints to standard error is kept, or, as long as there
 * is none and without CHILD_OUT, to standard output.  Without pipes, terminal signals do
 * not reach it; with pipes, it receives them by itself, as ssh must.  ERR_ABSENT: it is
 * not installed; ERR_IO: it cannot be started; ERR_NOMEM. */
int child_start(struct child **, const char *const argv[], unsigned pipes, struct err *);
enum child_stream { CHILD_OUTPUT, CHILD_ERRORS };
/* Is called with each line that a program prints, and whether that was standard output or
 * standard error, in a thread that reads them. */
typedef void (*child_line_fn)(void *arg, enum child_stream, const char *line);
/* From now on, call tell() with arg and each line that the program prints. */
void child_tell(struct child *, child_line_fn tell, void *arg);
/* The descriptors to write to the program and to read from it; -1: there is none.  They
 * stay the child's. */
int child_to(const struct child *);
int child_from(const struct child *);
/* Whether the program still runs. */
bool child_runs(struct child *);
/* Wait for its end, but for us microseconds at most.  Returns whether it still runs. */
bool child_runs_for(struct child *, uint64_t us);
/* Wait until the program shows that it is ready: the file `path` has something in it.
 * ERR_IO: it ended before, or it has not within most_us microseconds; ERR_CANCELLED. */
int child_ready(struct child *, const char *path, uint64_t most_us, struct err *);
/* child_ready(), which asks this function instead. */
int child_ready_when(struct child *, bool (*is_ready)(const char *path), const char *path,
    uint64_t most_us, struct err *);
/* The result of a child that has ended: 0 for status 0, else ERR_IO with the line that
 * was kept, or with its status if there is none. */
int child_result(struct child *, struct err *);
/* Kill the program at once; it is still to be ended by one of the next three. */
void child_kill(struct child *);
/* Close the pipes, wait until the program has ended by itself, and free *c.  If the work
 * of this thread is to end meanwhile (cancel.h), the program is asked to end.  Returns
 * what child_result() does.  NULL is allowed, and gives 0. */
int child_wait(struct child *, struct err *);
/* Ask the program to end, kill it after most_us microseconds, and free *c.  Returns what
 * child_result() does.  NULL is allowed, and gives 0. */
int child_end(struct child *, uint64_t most_us, struct err *);
/* child_end() after some seconds, of a program whose result does not matter. */
void child_stop(struct child *);
/* Run a program that ends by itself, and wait for its end.  Errors of child_start() and
 * child_result(). */
int child_run(const char *const argv[], struct err *);
/* child_run(), with tell(arg, line) for every line that the program prints.
 * ERR_CANCELLED: the work of this thread is to end (cancel.h), so the program was told to
 * end, too, and all that it has started. */
int child_run_telling(
    const char *const argv[], child_line_fn tell, void *arg, struct err *);

/* Read all of a pipe from what `name` names, up to `most` bytes.  *out is the text with a
 * NUL behind it; the caller frees it, and it is NULL on failure.  ERR_FORMAT: there is
 * more; ERR_IO; ERR_NOMEM; ERR_CANCELLED. */
int child_read_answer(int fd, const char *name, size_t most, char **out, struct err *);
/* Run a program to its end and take all that it prints, as child_read_answer() does.
 * Errors of that, and of child_run(). */
int child_answer(const char *const argv[], size_t most, char **out, struct err *);

#endif /* COMMON_BASE_CHILD_H */
