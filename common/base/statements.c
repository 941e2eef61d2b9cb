/* statements.c: reads files of statements, gives each line to the function of its kind, and
 * writes such lines.  dolly and mfrisbeed call this for their settings, and whoever keeps a
 * small state in a text, in any thread. */
#include "common/base/statements.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/number.h"
#include "common/base/readable.h"

const char *
statement_value(const char *word, const char *key)
{
	size_t n = strlen(key);

	return strncmp(word, key, n) == 0 && word[n] == '=' ? word + n + 1 : NULL;
}

int
statement_unknown(const struct statement *s, size_t i, struct err *e)
{
	return err_set(
	    e, ERR_FORMAT, "\"%.40s\" is not known to \"%s\"", s->words[i], s->words[0]);
}

static int
cut(struct statement *s, struct err *e)
{
	char *at = s->text, *word;

	s->text[strcspn(s->text, "#")] = '\0';
	for (s->n = 0; (word = strtok_r(at, " \t\r", &at)) != NULL; s->n++) {
		if (s->n == STATEMENT_WORDS_MAX)
			return err_set(
			    e, ERR_FORMAT, "more than %d words", STATEMENT_WORDS_MAX);
		s->words[s->n] = word;
	}
	return 0;
}

static int
err_none(const struct statement *s, struct err *e)
{
	return err_set(e, ERR_FORMAT, "\"%.40s\" is not a statement", s->words[0]);
}

static int
take(const struct statement_kind *kinds, void *arg, struct statement *s, struct err *e)
{
	if (cut(s, e) != 0)
		return -1;
	if (s->n == 0)
		return 0;
	for (const struct statement_kind *k = kinds; k->name != NULL; k++)
		if (k->name[0] == '\0' || strcmp(s->words[0], k->name) == 0) {
			if (s->n < k->min || s->n > k->max)
				return err_set(e, ERR_FORMAT,
				    "\"%.40s\" has too %s words", s->words[0],
				    s->n < k->min ? "few" : "many");
			return k->take(arg, s, e);
		}
	return err_none(s, e);
}

int
statements_parse(const struct statement_kind *kinds, void *arg, const char *text,
    size_t bytes, const char *name, struct err *e)
{
	struct statement s;
	const char *end = text + bytes;

	for (unsigned number = 1; text < end; number++) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		size_t len = (size_t)((stop != NULL ? stop : end) - text);
		if (len >= sizeof s.text || memchr(text, '\0', len) != NULL)
			return err_set(e, ERR_FORMAT,
			    "%s: line %u is too long, or is not text", name, number);
		memcpy(s.text, text, len);
		s.text[len] = '\0';
		if (take(kinds, arg, &s, e) != 0) {
			if (e->kind == ERR_USAGE) /* of what reads command lines, too */
				e->kind = ERR_FORMAT;
			return err_ctx(e, "%s: line %u", name, number);
		}
		text += len + 1;
	}
	return 0;
}

/* Reads a file, as long as it is not too long: then there is at least one byte more
 * than it may have. */
static int
read_whole(const char *path, struct buf *text, struct err *e)
{
	uint8_t piece[16 << 10];
	ssize_t got = 1;
	int fd = readable_open(path, e);

	if (fd < 0)
		return -1;
	while (buf_ok(text) && text->len <= STATEMENTS_BYTES_MAX && got > 0) {
		got = read(fd, piece, sizeof piece);
		buf_bytes(text, piece, got > 0 ? (size_t)got : 0);
	}
	int rc = got < 0 ? err_os(e, "%s", path) : buf_ok(text) ? 0 : err_nomem(e, path);
	close(fd);
	return rc;
}

int
statements_read(
    const struct statement_kind *kinds, void *arg, const char *path, struct err *e)
{
	struct buf text = { 0 };
	int rc = read_whole(path, &text, e);

	if (rc == 0 && text.len > STATEMENTS_BYTES_MAX)
		rc = err_set(e, ERR_FORMAT, "%s: is longer than %d MiB", path,
		    STATEMENTS_BYTES_MAX >> 20);
	if (rc == 0)
		rc = statements_parse(kinds, arg,
		    text.len > 0 ? (const char *)text.base : "", text.len, path, e);
	buf_free(&text);
	return rc;
}

int
statements_write(struct buf *b, struct err *e, const char *format, ...)
{
	char line[STATEMENT_BYTES_MAX + 1];
	va_list ap;

	va_start(ap, format);
	int n = vsnprintf(line, sizeof line, format, ap);
	va_end(ap);
	if (n < 0 || n >= STATEMENT_BYTES_MAX || line[strcspn(line, "#\r\n")] != '\0')
		return err_set(e, ERR_USAGE, "\"%.200s\" cannot be kept as a line of text", line);
	line[n++] = '\n';
	buf_bytes(b, line, (size_t)n);
	return buf_ok(b) ? 0 : err_nomem(e, "a text");
}

static int
take_word(const struct statement_field *f, void *to, const char *word, struct err *e)
{
	switch (f->is) {
	case FIELD_NUMBER: return number_uint(word, f->min, f->max, to, e);
	case FIELD_ID: return number_uuid(word, to, e);
	case FIELD_YES:
		*(bool *)to = strcmp(word, "yes") == 0;
		return *(bool *)to || strcmp(word, "no") == 0
		           ? 0
		           : err_set(e, ERR_FORMAT, "yes or no is expected");
	default:
		if (strlen(word) >= f->max)
			return err_set(e, ERR_FORMAT, "the word is too long");
		strcpy(to, word);
		return 0;
	}
}

int
statement_take(const struct statement_field *f, void *arg, const struct statement *s,
    struct err *e)
{
	for (; f->name != NULL; f++)
		if (strcmp(f->name, s->words[0]) == 0)
			return take_word(f, (char *)arg + f->at, s->words[1], e);
	return err_none(s, e);
}

int
statements_write_fields(
    struct buf *b, const struct statement_field *f, const void *arg, struct err *e)
{
	char id[33];
	int rc = 0;

	for (; rc == 0 && f->name != NULL; f++) {
		const void *from = (const char *)arg + f->at;
		if (f->is == FIELD_ID)
			rc = statements_write(b, e, "%s %s", f->name, number_hex(from, 16, id));
		else if (f->is == FIELD_NUMBER)
			rc = statements_write(b, e, "%s %" PRIu64, f->name, *(const uint64_t *)from);
		else
			rc = statements_write(b, e, "%s %s", f->name,
			    f->is == FIELD_WORD     ? (const char *)from
			    : *(const bool *)from ? "yes" : "no");
	}
	return rc;
}
