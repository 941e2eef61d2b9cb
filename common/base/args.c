/* args.c: a command line is built word by word.  Whoever runs other programs calls this, in
 * its own thread; a struct args belongs to one thread. */
#include "common/base/args.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Make room for one more word, and the NULL behind it. */
static bool
make_room(struct args *a)
{
	if (a->n + 1 < a->cap)
		return true;
	size_t cap = a->cap == 0 ? 32 : 2 * a->cap;
	const char **v = realloc(a->v, cap * sizeof *v);
	if (v != NULL)
		a->v = v;
	char **owned = realloc(a->owned, cap * sizeof *owned);
	if (owned != NULL)
		a->owned = owned;
	if (v == NULL || owned == NULL)
		return false;
	a->cap = cap;
	return true;
}

void
args_add(struct args *a, const char *word)
{
	if (!make_room(a)) {
		a->failed = true;
		return;
	}
	a->v[a->n++] = word;
	a->v[a->n] = NULL;
}

void
args_addf(struct args *a, const char *fmt, ...)
{
	char *word = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (!make_room(a) || vasprintf(&word, fmt, ap) < 0)
		a->failed = true;
	else
		args_add(a, a->owned[a->nowned++] = word);
	va_end(ap);
}

void
args_free(struct args *a)
{
	for (size_t i = 0; i < a->nowned; i++)
		free(a->owned[i]);
	free(a->owned);
	free(a->v);
	*a = (struct args){ 0 };
}

int
args_check(const struct args *a, struct err *e)
{
	return a->failed ? err_nomem(e, "a command line") : 0;
}

int
args_start(struct child **out, struct args *a, const char *pid_file, uint64_t most_us,
    struct err *e)
{
	int rc = args_check(a, e) == 0 ? child_start(out, a->v, 0, e) : -1;

	args_free(a);
	return rc == 0 ? child_ready(*out, pid_file, most_us, e) : -1;
}

int
args_run(struct args *a, struct err *e)
{
	int rc = args_check(a, e) == 0 ? child_run(a->v, e) : -1;

	args_free(a);
	return rc;
}

int
args_run_telling(struct args *a, child_line_fn tell, void *arg, struct err *e)
{
	int rc = args_check(a, e) == 0 ? child_run_telling(a->v, tell, arg, e) : -1;

	args_free(a);
	return rc;
}
