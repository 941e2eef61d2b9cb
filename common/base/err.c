/* err.c: makes the sentence of a struct err, and puts context in front of it and what follows
 * behind it; and has the words for the kinds of errors.  Every function that can fail calls this,
 * in any thread; a struct err belongs to one thread at a time. */
#include "common/base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/cancel.h"

static int __attribute__((format(printf, 4, 0)))
err_vset(struct err *e, enum err_kind kind, int os, const char *fmt, va_list ap)
{
	char why[128];

	e->kind = kind;
	e->os = os;
	e->told = false;
	e->misuse = false;
	int n = vsnprintf(e->text, sizeof e->text, fmt, ap);
	if (os != 0 && n >= 0 && (size_t)n < sizeof e->text)
		snprintf(e->text + n, sizeof e->text - (size_t)n, ": %s",
		    strerror_r(os, why, sizeof why));
	return -1;
}

int
err_set(struct err *e, enum err_kind kind, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	err_vset(e, kind, 0, fmt, ap);
	va_end(ap);
	return -1;
}

int
err_misuse(struct err *e, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	err_vset(e, ERR_USAGE, 0, fmt, ap);
	va_end(ap);
	e->misuse = true;
	return -1;
}

int
err_os(struct err *e, const char *fmt, ...)
{
	int os = errno;
	va_list ap;

	if (os == EINTR && cancel_check(e) != 0)
		return -1;
	va_start(ap, fmt);
	err_vset(e, ERR_IO, os, fmt, ap);
	va_end(ap);
	return -1;
}

int
err_nomem(struct err *e, const char *what)
{
	return err_set(e, ERR_NOMEM, "out of memory: %s", what);
}

int
err_ctx(struct err *e, const char *fmt, ...)
{
	char old[sizeof e->text], ctx[sizeof e->text];
	va_list ap;

	memcpy(old, e->text, sizeof old);
	va_start(ap, fmt);
	vsnprintf(ctx, sizeof ctx, fmt, ap);
	va_end(ap);
	/* When both do not fit, the end of the old text is cut. */
	int n = snprintf(e->text, sizeof e->text, "%.*s: ", 250, ctx);
	if (n > 0 && (size_t)n < sizeof e->text)
		snprintf(e->text + n, sizeof e->text - (size_t)n, "%.*s",
		    (int)(sizeof e->text - (size_t)n - 1), old);
	return -1;
}

int
err_add(struct err *e, const char *fmt, ...)
{
	char more[sizeof e->text / 2];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(more, sizeof more, fmt, ap);
	va_end(ap);
	size_t at = strlen(e->text), room = sizeof e->text - strlen(more) - sizeof "; ";
	if (at > room)
		at = room;
	snprintf(e->text + at, sizeof e->text - at, "; %s", more);
	return -1;
}

static const char *const words[] = { [ERR_NONE] = "io",
	[ERR_USAGE] = "usage",
	[ERR_IO] = "io",
	[ERR_FORMAT] = "damaged",
	[ERR_UNSUPPORTED] = "unsupported",
	[ERR_REFUSED] = "refused",
	[ERR_NOMEM] = "memory",
	[ERR_CANCELLED] = "interrupted",
	[ERR_ABSENT] = "absent" };

enum { KINDS = sizeof words / sizeof words[0] };

const char *
err_word(enum err_kind kind)
{
	return words[kind];
}

enum err_kind
err_kind_of(const char *word)
{
	for (int k = ERR_USAGE; word != NULL && k < KINDS; k++)
		if (strcmp(word, words[k]) == 0)
			return (enum err_kind)k;
	return ERR_IO;
}

int
err_exit_status(const struct err *e)
{
	switch (e->kind) {
	case ERR_USAGE:
		return 2;
	case ERR_FORMAT:
		return 3;
	default:
		return 1;
	}
}
