/* table.c: reads tests/usage/PROGRAM.txt (table.h says what is in it).  usage.c calls it, in
 * the first thread. */
#include "tests/usage/table.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_MAX = 2000, LINE_BYTES = 1000 };

struct table {
	char *lines[LINES_MAX];
	int n, at;              /* lines, and which is the next one */
	char words[LINE_BYTES]; /* of the case that was given out */
};

struct table *
table_read(const char *path)
{
	struct table *t = calloc(1, sizeof *t);
	FILE *f = fopen(path, "r");
	char *line = NULL;
	size_t cap = 0;

	while (
	    f != NULL && t != NULL && t->n < LINES_MAX && getline(&line, &cap, f) > 0) {
		line[strcspn(line, "\n")] = '\0';
		t->lines[t->n++] = strdup(line);
	}
	bool whole = f != NULL && feof(f);
	free(line);
	if (f != NULL)
		fclose(f);
	if (whole)
		return t;
	table_free(t);
	return NULL;
}

void
table_free(struct table *t)
{
	for (int i = 0; t != NULL && i < t->n; i++)
		free(t->lines[i]);
	free(t);
}

static bool
says_nothing(const char *line)
{
	return line[0] == '#' || line[0] == '\0';
}

static bool
is_part(const char *line)
{
	return line[0] == '\t' && line[1] != '\0';
}

static bool
is_arguments(const char *line)
{
	return !says_nothing(line) && !isspace((unsigned char)line[0]);
}

/* Copy the word at *from to *to without its quotes, and move both.  False: a quote is not
 * closed. */
static bool
take_word(const char **from, char **to)
{
	char quote = '\0';

	for (; **from != '\0' && (quote != '\0' || **from != ' '); (*from)++) {
		if (**from == quote)
			quote = '\0';
		else if (quote == '\0' && (**from == '"' || **from == '\''))
			quote = **from;
		else
			*(*to)++ = **from;
	}
	*(*to)++ = '\0';
	return quote == '\0';
}

/* NAME=VALUE, before the first argument. */
static bool
is_variable(const char *word)
{
	size_t n = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");

	return n > 0 && word[n] == '=';
}

static bool
split(const char *line, char *to, struct usage_case *c)
{
	int nenv = 0, nwords = 0;

	while (*line != '\0' && nwords < WORDS_MAX - 1 && nenv < WORDS_MAX - 1) {
		char *word = to;
		if (*line == ' ') {
			line++;
			continue;
		}
		if (!take_word(&line, &to))
			return false;
		if (nwords == 0 && is_variable(word))
			c->env[nenv++] = word;
		else
			c->words[nwords++] = word;
	}
	return *line == '\0' && nwords > 0;
}

/* The parts that belong to the arguments in line `at` of the table. */
static bool
find_parts(const struct table *t, int at, struct usage_case *c)
{
	int n = 0;

	while (at < t->n && is_arguments(t->lines[at]))
		at++;
	c->status = STATUS_USAGE;
	if (at < t->n && strcmp(t->lines[at], "\texit 1") == 0)
		c->status = STATUS_FAILED;
	if (at < t->n && strcmp(t->lines[at], "\texit 3") == 0)
		c->status = STATUS_DAMAGED;
	at += c->status != STATUS_USAGE;
	for (; at < t->n && is_part(t->lines[at]) && n < PARTS_MAX - 1; at++)
		c->parts[n++] = t->lines[at] + 1;
	return n > 0 && (at == t->n || !is_part(t->lines[at]));
}

int
table_next(struct table *t, struct usage_case *c)
{
	/* The parts of the case before this one were read with it. */
	while (t->at < t->n && (says_nothing(t->lines[t->at]) ||
				   (t->at > 0 && is_part(t->lines[t->at]) &&
				       !says_nothing(t->lines[t->at - 1]))))
		t->at++;
	if (t->at == t->n)
		return 0;
	const char *line = t->lines[t->at++];
	memset(c, 0, sizeof *c);
	c->text = line;
	c->line = t->at;
	bool right = is_arguments(line) && strlen(line) < sizeof t->words - 1 &&
	             split(line, t->words, c) && find_parts(t, t->at, c);
	return right ? 1 : -1;
}
