/* command.h: another program: what is written to it, and what it answers.  A function of this
 * program, in a thread, can take its place. */
#ifndef DSYNC_RUN_COMMAND_H
#define DSYNC_RUN_COMMAND_H

#include <stddef.h>

#include "common/base/err.h"

/* Pipes to the program's standard input, and from its standard output. */
enum command_pipes { COMMAND_IN = 1, COMMAND_OUT = 2 };

struct command;

/* Start a program.  argv[0] is looked for in PATH; argv is NULL-terminated, and argv[0] is
 * borrowed until the end.  Without COMMAND_IN in `pipes` it has an empty standard input, and
 * without COMMAND_OUT its output is dropped.  What it writes to standard error is kept for
 * command_end().  ERR_ABSENT: it is not installed; ERR_IO, ERR_NOMEM. */
int command_start(struct command **, const char *const argv[], unsigned pipes, struct err *);
/* A function that takes a program's place: it reads `in` and writes `out`, which are -1 without a
 * pipe, and closes neither.  Returns 0, or -1 with an error. */
typedef int command_function(void *arg, int in, int out, struct err *);
/* Start a thread that runs a function in place of a program; arg is borrowed until the end.  What
 * it returns is what command_end() returns.  ERR_IO, ERR_NOMEM. */
int command_start_function(struct command **, command_function *, void *arg, unsigned pipes,
    struct err *);
/* The descriptors to write to the program and to read from it; -1: there is none.  They stay the
 * command's. */
int command_to(const struct command *);
int command_from(const struct command *);
/* Close the pipe to the program: its standard input ends. */
void command_close_to(struct command *);
/* Close the pipes, wait for the program's end, and free *c.  Returns 0 if it ended with status
 * 0, or -1 with ERR_IO and the last line that it wrote to standard error, whatever the kind of
 * its error was.  NULL is fine. */
int command_end(struct command *, struct err *);
/* Kill the program at once; command_end() is still to be called.  A function is not ended by this:
 * it notices that its pipes are closed. */
void command_kill(struct command *);

/* Run a program to its end and take all that it prints, up to `most` bytes.  *out is the text
 * with a NUL behind it; the caller frees it.  ERR_FORMAT: it prints more; other errors as
 * command_start() and command_end(). */
int command_answer(const char *const argv[], size_t most, char **out, struct err *);
/* Take all that a command prints which was started with COMMAND_OUT, as command_answer() does, and
 * end the command. */
int command_take_answer(struct command *, size_t most, char **out, struct err *);

#endif /* DSYNC_RUN_COMMAND_H */
