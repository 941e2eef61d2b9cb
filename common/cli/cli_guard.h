/* cli_guard.h: a run that was told to end does end, even if it waits for a pipe that nobody
 * reads, or for a disk that does not answer.  The program has a few seconds to end in order, by
 * cancel_check(); a second signal cuts them short.  Then the guard tidies up, says so, and
 * ends the program with status 1, without any more cleaning up, as a kill -9 would. */
#ifndef COMMON_CLI_CLI_GUARD_H
#define COMMON_CLI_CLI_GUARD_H

/* cli_main() calls this for a program that is `guarded`.  It starts a thread that waits for
 * a signal; when no thread can be started, the program can only end in order.  What the
 * guard says goes as JSON to report_fd, too, if that can be written without waiting; -1: to
 * none. */
void cli_guard_start(const char *program, int report_fd);
/* The handler of a signal calls this, to tell the guard that a signal has come. */
void cli_guard_wake(void);
/* tidy(arg) is called before the guard ends the program, in the guard's thread and while
 * all other threads go on, so it may do little.  It returns what the guard says of what is
 * left, or NULL.  tidy NULL: nothing is to be tidied up.  Returns when no tidy() is being
 * called. */
void cli_guard_set(const char *(*tidy)(void *arg), void *arg);

#endif /* COMMON_CLI_CLI_GUARD_H */
