/* hostlist.c: expands "node[01-32,40]" into names.  Programs call this with the texts of
 * options and of files that their user wrote, in any thread. */
#include "common/base/hostlist.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/grow.h"

enum { DIGITS_MAX = 9 };

/* A number in a bracket.  It is written with at least `digits` digits. */
struct number {
	unsigned value;
	int digits;
};

static bool
is_separator(char c)
{
	return c == ',' || isspace((unsigned char)c);
}

static bool
is_of_name(char c)
{
	return c != '\0' && (isalnum((unsigned char)c) || strchr("-._:", c) != NULL);
}

static int
add_name(struct hostlist *l, const char *name, struct err *e)
{
	if (l->n == HOSTLIST_MAX)
		return err_set(e, ERR_USAGE, "more than %d machines", HOSTLIST_MAX);
	if (grow_array(&l->names, &l->cap, l->n, sizeof *l->names, "names of machines", e) != 0)
		return -1;
	l->names[l->n] = strdup(name);
	if (l->names[l->n] == NULL)
		return err_nomem(e, "names of machines");
	l->n++;
	return 0;
}

static int
take_number(const char **p, struct number *x, struct err *e)
{
	const char *start = *p;

	x->value = 0;
	for (; isdigit((unsigned char)**p) && *p - start < DIGITS_MAX; ++*p)
		x->value = x->value * 10 + (unsigned)(**p - '0');
	x->digits = (int)(*p - start);
	if (x->digits == 0 || isdigit((unsigned char)**p))
		return err_set(e, ERR_USAGE,
		    "\"%.40s\": a number of 1 to %d digits must stand here", start,
		    DIGITS_MAX);
	return 0;
}

/* Adds the names of one number or range of a bracket, and moves *p behind it. */
static int
add_range(struct hostlist *l, const char *before, int before_len, const char *after,
    int after_len, const char **p, struct err *e)
{
	struct number first, last;
	char name[HOSTLIST_NAME_BYTES];

	if (take_number(p, &first, e) != 0)
		return -1;
	last = first;
	if (**p == '-') {
		++*p;
		if (take_number(p, &last, e) != 0)
			return -1;
	}
	if (last.value < first.value)
		return err_set(e, ERR_USAGE, "%u-%u: the range ends before it begins",
		    first.value, last.value);
	for (unsigned i = first.value; i <= last.value; i++) {
		int n = snprintf(name, sizeof name, "%.*s%0*u%.*s", before_len, before,
		    first.digits, i, after_len, after);
		if (n < 0 || (size_t)n >= sizeof name)
			return err_set(
			    e, ERR_USAGE, "%.40s: the name is too long", name);
		if (add_name(l, name, e) != 0)
			return -1;
	}
	return 0;
}

/* Adds the names of one word that has its bracket at `open`.  *end becomes the end of the
 * word. */
static int
add_bracket(struct hostlist *l, const char *start, const char *open, const char **end,
    struct err *e)
{
	const char *close = strchr(open, ']'), *p = open + 1;

	if (close == NULL)
		return err_set(e, ERR_USAGE, "%.40s: the bracket is not closed", start);
	const char *rest = close + 1;
	while (is_of_name(*rest))
		rest++;
	for (;; p++) {
		if (add_range(l, start, (int)(open - start), close + 1,
			(int)(rest - close - 1), &p, e) != 0)
			return -1;
		if (p == close)
			break;
		if (*p != ',')
			return err_set(e, ERR_USAGE,
			    "%.40s: a bracket holds numbers and ranges, "
			    "separated by commas",
			    start);
	}
	*end = rest;
	return 0;
}

static int
add_word(struct hostlist *l, const char **p, struct err *e)
{
	const char *start = *p, *end = start;
	char name[HOSTLIST_NAME_BYTES];

	while (is_of_name(*end))
		end++;
	if (end - start >= HOSTLIST_NAME_BYTES)
		return err_set(e, ERR_USAGE, "%.40s: the name is too long", start);
	if (*end == '[') {
		if (add_bracket(l, start, end, &end, e) != 0)
			return -1;
	} else if (end > start) {
		snprintf(name, sizeof name, "%.*s", (int)(end - start), start);
		if (add_name(l, name, e) != 0)
			return -1;
	}
	if (end == start || (*end != '\0' && !is_separator(*end)))
		return err_set(e, ERR_USAGE,
		    "\"%.40s\" is not a list of machines such as node[01-32,40]", start);
	*p = end;
	return 0;
}

int
hostlist_add(struct hostlist *l, const char *text, struct err *e)
{
	for (const char *p = text; *p != '\0';) {
		if (is_separator(*p))
			p++;
		else if (add_word(l, &p, e) != 0)
			return -1;
	}
	return 0;
}

void
hostlist_free(struct hostlist *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->names[i]);
	free(l->names);
	*l = (struct hostlist){ 0 };
}
