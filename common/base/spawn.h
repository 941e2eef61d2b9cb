/* spawn.h: another program is started beside this one.
 */
#ifndef COMMON_BASE_SPAWN_H
#define COMMON_BASE_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/base/err.h"

/* What the program has as its standard input, output and error; -1: /dev/null. */
struct spawn_files {
	int in, out, err;
};

/* Starts argv[0], which is looked for in PATH and then beside the program that runs, with the
 * arguments argv up to NULL.  All signals have their usual effect in it, and none is blocked.
 * own_group: it gets a process group of its own, so the terminal's signals do not reach it.  The
 * caller waits for *pid.  ERR_ABSENT: it is not installed; ERR_IO and others: it cannot be
 * started. */
int spawn_program(pid_t *pid, const char *const argv[], struct spawn_files,
    bool own_group, struct err *);
/* For a program that was started and cannot be used: it is killed and waited for. */
void spawn_undo(pid_t pid);

#endif /* COMMON_BASE_SPAWN_H */
