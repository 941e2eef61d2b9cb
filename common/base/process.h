/* process.h: a process of this machine: it is started, signalled, and waited for.
 *
 * Each has a descriptor that becomes readable when it has ended, so it can be waited for
 * beside others with poll(2) or epoll(7).  Nothing here starts a thread, except where the
 * kernel has no pidfd_open(2) (before 5.3). */
#ifndef COMMON_BASE_PROCESS_H
#define COMMON_BASE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/err.h"

/* What a program has as its standard input, output and error; -1: /dev/null. */
struct process_files {
	int in, out, err;
};

/* All zeros: there is no process. */
struct process {
	pid_t pid;
	int fd;         /* becomes readable at its end; process_forget() closes it */
	bool own_group; /* SIGKILL reaches all that the program has started, too */
	bool ended;     /* process_wait() has seen its end; its number is free */
	int status;     /* as waitpid(2) has it, when `ended`; -1: it is not known */
};

#define PROCESS_FOREVER UINT64_MAX
enum { PROCESS_WHY_BYTES = 64 };

/* Start argv[0], which is looked for in PATH and then beside the program that runs, with
 * the arguments argv up to NULL.  It has no descriptors but these three; all signals have
 * their usual effect in it, and none is blocked.  own_group: it gets a process group of
 * its own, so the terminal's signals do not reach it.  ERR_ABSENT: it is not installed;
 * ERR_IO: it cannot be started. */
int process_start(struct process *, const char *const argv[], struct process_files,
    bool own_group, struct err *);
/* Watch a child that fork(2) has made.  ERR_IO: it cannot be waited for, and was
 * killed. */
int process_watch(struct process *, pid_t, struct err *);
/* The calling process is killed when the thread of its parent that has started it ends.  False: that
 * parent has ended before. */
bool process_ends_with(pid_t parent);
/* Wait for its end, for most_us microseconds at most (0: just look).  Returns whether it
 * has ended; `status` is there then. */
bool process_wait(struct process *, uint64_t most_us);
/* Send a signal, unless it has ended. */
void process_signal(const struct process *, int sig);
/* process_signal(), also to what it has started, if it has its own group. */
void process_signal_all(const struct process *, int sig);
/* Ask it to end by SIGTERM, kill it after most_us microseconds, and wait for its end. */
void process_end(struct process *, uint64_t most_us);
/* Of a process that has ended: whether that was by anything but status 0, and how: "ended
 * with status 3", "was ended by signal 9". */
bool process_failed(const struct process *, char why[PROCESS_WHY_BYTES]);
/* Close the descriptor; there is no process then.  One that runs goes on. */
void process_forget(struct process *);

#endif /* COMMON_BASE_PROCESS_H */
