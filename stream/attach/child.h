/* child.h: another program that runs beside this one, and what it says. */
#ifndef STREAM_ATTACH_CHILD_H
#define STREAM_ATTACH_CHILD_H

#include <stdbool.h>

#include "common/base/err.h"

struct child;

/* argv[0] is looked for in PATH; argv is NULL-terminated.  The program has no standard input,
 * and terminal signals do not reach it.  What it writes to standard error is kept, and from
 * child_tell() on given to tell(), line by line, in another thread.  ERR_IO: it cannot be
 * started. */
int child_start(struct child **, const char *const argv[], struct err *);
void child_tell(struct child *, void (*tell)(const char *line));
bool child_runs(struct child *);
/* It has ended: 0 with status 0, else ERR_IO with the last line that it wrote. */
int child_result(struct child *, struct err *);
/* It is told to end, and made to after some seconds; freed.  NULL is fine. */
void child_stop(struct child *);
/* All of a program that ends by itself. */
int child_run(const char *const argv[], struct err *);

#endif /* STREAM_ATTACH_CHILD_H */
