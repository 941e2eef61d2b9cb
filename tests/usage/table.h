/* table.h: the table of a program's refusals, tests/usage/PROGRAM.txt.
 *
 *	# a comment
 *	-s 9 disk x.ndz
 *	EMUSTORE=dir -s "" x.ndz
 *		the words of the sentence
 *		usage:
 *
 * A line of arguments is read as a shell reads it, with quotes, and with variables of the
 * environment before them; no other character has a meaning.  The indented lines after one or
 * more lines of arguments are parts of what each of them must print on standard error.  The
 * part "usage:" stands where the program says how the command line should be, and only there.
 * The exit status is 2; where the first part is "exit 1" or "exit 3", nothing is wrong with the
 * command line, and the status is that one.
 */
#ifndef TESTS_USAGE_TABLE_H
#define TESTS_USAGE_TABLE_H

#include <stdbool.h>
#include <stddef.h>

enum { WORDS_MAX = 32, PARTS_MAX = 8, STATUS_FAILED = 1, STATUS_USAGE = 2, STATUS_DAMAGED = 3 };

struct usage_case {
	const char *text;             /* the line of arguments */
	int line;                     /* its number, from 1 on */
	char *env[WORDS_MAX];         /* NAME=VALUE, ended with NULL */
	char *words[WORDS_MAX];       /* the arguments, ended with NULL */
	const char *parts[PARTS_MAX]; /* of what is printed, ended with NULL */
	int status;                   /* the exit status */
};

struct table;

/* Returns the table in the file of that name; NULL: it cannot be read.  table_free() frees
 * it. */
struct table *table_read(const char *path);
void table_free(struct table *);

/* The next case.  What c points to stays until the next call.  Returns 1, 0 after the last
 * one, or -1: line c->line cannot be understood. */
int table_next(struct table *, struct usage_case *c);

#endif /* TESTS_USAGE_TABLE_H */
