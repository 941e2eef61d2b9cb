/* say.c: the one place through which reports, warnings, errors and lines of progress reach a
 * terminal.  All programs and libraries call say_text(), in any thread. */
#include "common/base/say.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/plain.h"

enum { USUAL_BYTES = 1024 };

/* A line stands on the terminal, and the cursor is behind it.  It changes while stderr is
 * locked. */
static atomic_bool stands;

const char *
say_line_clearing(void)
{
	return stands ? "\r\033[K" : "";
}

void
say_line_clear(void)
{
	flockfile(stderr);
	if (stands)
		fputs(say_line_clearing(), stderr);
	stands = false;
	funlockfile(stderr);
}

void
say_line(const char *text)
{
	flockfile(stderr);
	fprintf(stderr, "\r%s\033[K", text);
	stands = true;
	funlockfile(stderr);
}

/* Formats the text and returns it; *len is its length, and *own must be freed.  When there
 * is no memory for a long text, its beginning is returned, which ends in "...". */
static char *__attribute__((format(printf, 4, 0)))
format(char usual[USUAL_BYTES], char **own, size_t *len, const char *fmt, va_list ap)
{
	static const char cut[] = "...\n";
	va_list again;

	*own = NULL;
	va_copy(again, ap);
	int n = vsnprintf(usual, USUAL_BYTES, fmt, ap);
	if (n >= USUAL_BYTES) {
		n = vasprintf(own, fmt, again);
		if (n < 0) {
			*own = NULL;
			strcpy(usual + USUAL_BYTES - sizeof cut, cut);
			n = USUAL_BYTES - 1;
		}
	}
	va_end(again);
	*len = n > 0 ? (size_t)n : 0;
	return *own != NULL ? *own : usual;
}

void
say_text(FILE *to, const char *fmt, ...)
{
	char usual[USUAL_BYTES], *own;
	size_t fmt_len = strlen(fmt), len;
	va_list ap;

	va_start(ap, fmt);
	char *text = format(usual, &own, &len, fmt, ap);
	va_end(ap);
	bool ends = fmt_len > 0 && fmt[fmt_len - 1] == '\n' && len > 0;
	len = plain_bytes(text, len - ends);
	if (ends)
		text[len++] = '\n';
	flockfile(to);
	say_line_clear();
	fwrite(text, 1, len, to);
	funlockfile(to);
	free(own);
}
