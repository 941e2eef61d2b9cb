/* cli_signal.c: the signals that end a program early set its struct cancel.  cli_main() calls
 * cli_catch_signals() in the first thread; the handler runs in any thread. */
#include <errno.h>
#include <signal.h>

#include "common/base/cancel.h"
#include "common/cli/cli.h"
#include "common/cli/cli_guard.h"

static struct cancel caught; /* of all threads: any of them may get the signal */

static void
on_signal(int sig)
{
	int was = errno; /* errno of the call that was interrupted */

	cancel_end(&caught, sig);
	cli_guard_wake();
	errno = was;
}

static void
on_interrupt(int sig)
{
	(void)sig;
}

struct cancel *
cli_cancel(void)
{
	return &caught;
}

void
cli_catch_signals(bool hangup)
{
	static const int signals[] = { SIGINT, SIGTERM };
	/* Without SA_RESTART, calls that wait end with EINTR. */
	struct sigaction sa = { .sa_handler = on_interrupt };

	sigaction(CANCEL_INTERRUPTS, &sa, NULL);
	cancel_enlist();
	sa.sa_handler = on_signal;
	for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
		sigaction(signals[i], &sa, NULL);
	sa.sa_handler = hangup ? on_signal : SIG_IGN;
	sigaction(SIGHUP, &sa, NULL);
	sa.sa_handler = SIG_IGN; /* a closed pipe is an error of write(2) */
	sigaction(SIGPIPE, &sa, NULL);
	/* A program inherits from its starter that SIGCHLD is ignored, and then it gets no status
	 * of its children. */
	sa.sa_handler = SIG_DFL;
	sigaction(SIGCHLD, &sa, NULL);
	cancel_work_for(&caught);
}
