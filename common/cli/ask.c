/* ask.c: asks whoever sits at the terminal before something dear is lost.  Programs call this
 * in the first thread, before they begin to work. */
#include "common/cli/ask.h"

#include <poll.h>
#include <stdio.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "common/base/say.h"

enum { LOOK_EVERY_MS = 100 };

/* Waits for an answer, and not only in fgets(): a signal that comes just before it would not end that.
 * False: a signal has come. */
static bool
is_answered(void)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };

	while (cancel_signal() == 0 && poll(&in, 1, LOOK_EVERY_MS) <= 0)
		;
	return cancel_signal() == 0;
}

/* A line is an answer only when it is whole: the end of the input is no yes. */
static bool
is_yes(void)
{
	char line[16];

	if (!is_answered() || fgets(line, sizeof line, stdin) == NULL) {
		say_text(stderr, "\n");
		return false;
	}
	return strcasecmp(line, "y\n") == 0 || strcasecmp(line, "yes\n") == 0;
}

static bool
is_worth_asking(const char *path)
{
	struct stat st;
	/* A job in the background of a shell (&) cannot read an answer. */
	pid_t front = tcgetpgrp(STDIN_FILENO);

	return isatty(STDIN_FILENO) && isatty(STDERR_FILENO) &&
	       (front == -1 || front == getpgrp()) && stat(path, &st) == 0 &&
	       S_ISREG(st.st_mode) && st.st_size > 0;
}

int
ask_replace(const char *path, bool force, struct err *e)
{
	if (force || !is_worth_asking(path))
		return 0;
	say_text(stderr, "%s: exists already: replace it? [y/N] ", path);
	if (is_yes())
		return 0;
	if (cancel_check(e) != 0)
		return -1;
	return err_set(
	    e, ERR_REFUSED, "%s: was not replaced; --force replaces it unasked", path);
}
