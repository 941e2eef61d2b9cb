/* command.h: another program, what is written to it and what it answers. */
#ifndef DSYNC_RUN_COMMAND_H
#define DSYNC_RUN_COMMAND_H

#include <stddef.h>

#include "common/base/err.h"

enum command_pipes { COMMAND_IN = 1, COMMAND_OUT = 2 };

struct command;

/* argv[0] is looked for in PATH; argv is NULL-terminated.  Without COMMAND_IN it reads
 * nothing, without COMMAND_OUT what it prints is dropped.  What it writes to standard error
 * is kept for command_end().  ERR_ABSENT: it is not installed; ERR_IO. */
int command_start(struct command **, const char *const argv[], unsigned pipes, struct err *);
/* The ends of its pipes that are here; -1: there is none. */
int command_to(const struct command *);
int command_from(const struct command *);
/* Nothing more is written to it. */
void command_close_to(struct command *);
/* Close the pipes, wait for its end, and free it.  0: it ended with status 0.  Else -1 with
 * the last line that it wrote to standard error; ERR_IO, or ERR_ABSENT, ERR_FORMAT and
 * ERR_REFUSED are not told apart.  NULL is fine. */
int command_end(struct command *, struct err *);
/* Make it end at once, whatever it does; command_end() is still to be called. */
void command_kill(struct command *);

/* Run a program to its end and take all that it prints, with a NUL behind it, up to `most`
 * bytes.  *out is the caller's.  ERR_FORMAT: it prints more. */
int command_answer(const char *const argv[], size_t most, char **out, struct err *);

#endif /* DSYNC_RUN_COMMAND_H */
