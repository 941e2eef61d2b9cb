/* statements.h: text files that people or programs write: one statement a line, a word that names it
 * and then its operands, separated by blanks; # begins a comment. */
#ifndef COMMON_BASE_STATEMENTS_H
#define COMMON_BASE_STATEMENTS_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/err.h"

enum {
	STATEMENT_WORDS_MAX = 24,
	STATEMENT_BYTES_MAX = 4096, /* longest line, with its newline */
	STATEMENTS_BYTES_MAX = 4 << 20, /* longest file */
};

/* One line, cut into words; the first one names the statement. */
struct statement {
	char text[STATEMENT_BYTES_MAX];
	char *words[STATEMENT_WORDS_MAX];
	size_t n;
};

/* What a kind of statement does.  An array of these ends with a name of NULL.  The name "", the
 * last one, stands for all others. */
struct statement_kind {
	const char *name;
	size_t min, max; /* number of words, the name included */
	int (*take)(void *arg, const struct statement *, struct err *);
};

/* Calls take() of its kind for each line of text[bytes], in order, until one fails.
 * ERR_FORMAT, also for ERR_USAGE of take(), and its other errors; `name` and the number of the
 * line are put in front of them. */
int statements_parse(const struct statement_kind *, void *arg, const char *text,
    size_t bytes, const char *name, struct err *);
/* statements_parse() for a file.  ERR_IO names it; ERR_FORMAT when it is too long. */
int statements_read(
    const struct statement_kind *, void *arg, const char *path, struct err *);

/* A statement of one word, which is kept in a member of a struct.  An array of these ends with
 * a name of NULL. */
struct statement_field {
	const char *name;
	enum { FIELD_WORD, FIELD_NUMBER, FIELD_ID, FIELD_YES } is; /* char[], uint64_t, uint8_t[16], bool */
	size_t at;         /* of the member, offsetof() */
	uint64_t min, max; /* of a number; a word has less than max bytes */
};

/* Keeps the word of the field that the statement names.  ERR_FORMAT: there is no such field, or
 * it cannot be that; ERR_USAGE: it cannot be that number. */
int statement_take(const struct statement_field *, void *arg, const struct statement *,
    struct err *);
/* statements_write() for all fields, in order. */
int statements_write_fields(
    struct buf *, const struct statement_field *, const void *arg, struct err *);
/* Adds a line to a text that statements_parse() will read: a name and operands, by a format
 * of printf().  ERR_USAGE: they would be read as something else; ERR_NOMEM. */
int statements_write(struct buf *, struct err *, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The value of an operand "key=value", in place; NULL: the operand has another key. */
const char *statement_value(const char *word, const char *key);
/* Reports that operand i is not known to its statement (ERR_FORMAT).  Returns -1. */
int statement_unknown(const struct statement *, size_t i, struct err *);

#endif /* COMMON_BASE_STATEMENTS_H */
