/* cli_guard.h: a run that was told to end ends, whatever it waits for: a pipe that
 * nobody reads, a disk that does not answer.  The orderly way, by cancel_check(),
 * has a few seconds; a second signal cuts them short.  Then this tidies up, says so
 * and leaves with status 1, as after a kill -9. */
#ifndef COMMON_CLI_CLI_GUARD_H
#define COMMON_CLI_CLI_GUARD_H

/* From cli_main(), for a program that is `guarded`: a thread that waits for a signal.
 * Where there is none to be had, the orderly way is the only one.  What it says goes to
 * this descriptor, too, as JSON, when that has room just then; -1: to none. */
void cli_guard_start(const char *program, int report_fd);
/* From the handler of a signal. */
void cli_guard_wake(void);
/* tidy(arg) is called then, from another thread while all others go on: it may do
 * little.  NULL: nothing is to be tidied up; returns when it is not being called. */
void cli_guard_set(void (*tidy)(void *arg), void *arg);

#endif /* COMMON_CLI_CLI_GUARD_H */
