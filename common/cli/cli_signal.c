/* cli_signal.c: the signals that end a run early, as a flag to be looked at. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "common/cli/cli.h"
#include "common/cli/cli_guard.h"

static atomic_int caught; /* looked at by all threads, whichever the signal was for */

static void
on_signal(int sig)
{
	int was = errno; /* of the call that was interrupted */

	caught = sig;
	cli_guard_wake();
	errno = was;
}

void
cli_catch_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction sa = { .sa_handler = on_signal }; /* no SA_RESTART: wake up */

	for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
		sigaction(signals[i], &sa, NULL);
	sa.sa_handler = SIG_IGN; /* a closed pipe is an error of write(2) */
	sigaction(SIGPIPE, &sa, NULL);
}

int
cli_signal(void)
{
	return caught;
}

int
cli_check_signal(struct err *e)
{
	if (caught == 0)
		return 0;
	return err_set(e, ERR_CANCELLED, "interrupted by SIG%s", sigabbrev_np(caught));
}
