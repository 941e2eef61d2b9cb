/* terminal.c: what is known of the terminal at standard error.  Progress lines and frisbeed's
 * table call this, in the thread that draws them. */
#include "common/cli/terminal.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/base/plain.h"

enum { ROWS_DEFAULT = 24, COLUMNS_DEFAULT = 80 };

bool
terminal_draws(void)
{
	const char *kind = getenv("TERM");

	return isatty(STDERR_FILENO) && (kind == NULL || strcmp(kind, "dumb") != 0);
}

struct terminal_size
terminal_size(void)
{
	struct winsize w;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &w) != 0 || w.ws_row == 0 || w.ws_col == 0)
		return (struct terminal_size){ ROWS_DEFAULT, COLUMNS_DEFAULT };
	return (struct terminal_size){ w.ws_row, w.ws_col };
}

size_t
terminal_fit(const char *text, unsigned columns)
{
	size_t len = strlen(text), at = 0, n;
	uint32_t code;

	while ((n = plain_char(text + at, len - at, &code)) > 0 && at + n <= columns)
		at += n;
	return at;
}
