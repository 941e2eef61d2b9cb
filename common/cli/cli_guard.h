/* cli_guard.h: a run that was told to end does end.
 *
 * A signal that comes just before a call that waits does not end that call, and comes to one
 * thread alone.  So the guard interrupts each thread that does not know of the signal again and
 * again (cancel_interrupt()).
 *
 * A program that is `guarded` also ends if it waits for a disk that does not answer.  It has a
 * few seconds to end in order, by cancel_check(); a second signal cuts them short.  Then the guard
 * tidies up, says so, and ends the program with status 1, without any more cleaning up, as a
 * kill -9 would. */
#ifndef COMMON_CLI_CLI_GUARD_H
#define COMMON_CLI_CLI_GUARD_H

#include <stdbool.h>

/* What cli_main() says of a program before it starts the guard.  ends: the guard ends it.  What
 * the guard says then goes as JSON to report_fd, too, if that can be written without waiting; -1:
 * to none. */
void cli_guard_prepare(const char *program, bool ends, int report_fd);
/* Starts the thread that waits for a signal; when no thread can be started, the program can only
 * end in order.  A program that `gives_up_rights` calls this when it has; for others cli_main()
 * does. */
void cli_guard_start(void);
/* The handler of a signal calls this, to tell the guard that a signal has come. */
void cli_guard_wake(void);
/* tidy(arg) is called before the guard ends the program, in the guard's thread and while
 * all other threads go on, so it may do little.  It returns what the guard says of what is
 * left, or NULL.  tidy NULL: nothing is to be tidied up.  Returns when no tidy() is being
 * called. */
void cli_guard_set(const char *(*tidy)(void *arg), void *arg);

#endif /* COMMON_CLI_CLI_GUARD_H */
