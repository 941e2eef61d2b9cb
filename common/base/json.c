#include "common/base/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 32 };

struct json {
	FILE *mem;
	char *text;
	size_t len;
	int depth;
	bool first; /* in the innermost object or array */
	char closers[DEPTH_MAX];
};

struct json *
json_new(void)
{
	struct json *j = calloc(1, sizeof *j);

	if (j == NULL)
		return NULL;
	j->first = true;
	j->mem = open_memstream(&j->text, &j->len);
	if (j->mem == NULL) {
		free(j);
		return NULL;
	}
	return j;
}

void
json_free(struct json *j)
{
	if (j == NULL)
		return;
	fclose(j->mem);
	free(j->text);
	free(j);
}

/* Longer than it need be, half of a UTF-16 pair, or beyond the last code point: the
 * second byte tells (RFC 3629). */
static bool
second_fits(const unsigned char *s)
{
	switch (s[0]) {
	case 0xe0:
		return s[1] >= 0xa0;
	case 0xed:
		return s[1] < 0xa0;
	case 0xf0:
		return s[1] >= 0x90;
	case 0xf4:
		return s[1] < 0x90;
	default:
		return true;
	}
}

/* Length of the UTF-8 sequence at s, 0 when it is not one. */
static size_t
utf8_len(const unsigned char *s)
{
	size_t n = s[0] >= 0xf0 && s[0] < 0xf5 ? 4
	           : s[0] >= 0xe0              ? 3
	           : s[0] >= 0xc2              ? 2
	                                       : 0;

	if (s[0] >= 0xf5)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	return second_fits(s) ? n : 0;
}

static void
put_quoted(struct json *j, const char *value)
{
	const unsigned char *s = (const unsigned char *)value;

	fputc('"', j->mem);
	while (*s != '\0') {
		size_t n = *s < 0x80 ? 1 : utf8_len(s);
		if (n == 0) { /* not UTF-8: the replacement character */
			fputs("\\ufffd", j->mem);
			n = 1;
		} else if (*s == '"' || *s == '\\') {
			fprintf(j->mem, "\\%c", *s);
		} else if (*s < 0x20 || *s == 0x7f) {
			fprintf(j->mem, "\\u%04x", *s);
		} else {
			fwrite(s, 1, n, j->mem);
		}
		s += n;
	}
	fputc('"', j->mem);
}

static void
newline(struct json *j)
{
	fprintf(j->mem, "\n%*s", 2 * j->depth, "");
}

/* Comma, newline and key: what stands in front of any value. */
static void
lead(struct json *j, const char *key)
{
	if (!j->first)
		fputc(',', j->mem);
	if (j->depth > 0)
		newline(j);
	j->first = false;
	if (key != NULL) {
		put_quoted(j, key);
		fputs(": ", j->mem);
	}
}

static void
json_open(struct json *j, const char *key, char opener, char closer)
{
	assert(j->depth < DEPTH_MAX);
	lead(j, key);
	fputc(opener, j->mem);
	j->closers[j->depth++] = closer;
	j->first = true;
}

void
json_object(struct json *j, const char *key)
{
	json_open(j, key, '{', '}');
}

void
json_array(struct json *j, const char *key)
{
	json_open(j, key, '[', ']');
}

void
json_end(struct json *j)
{
	assert(j->depth > 0);
	char closer = j->closers[--j->depth];
	if (!j->first)
		newline(j);
	fputc(closer, j->mem);
	j->first = false;
}

void
json_string(struct json *j, const char *key, const char *value)
{
	lead(j, key);
	put_quoted(j, value);
}

void
json_uint(struct json *j, const char *key, uint64_t value)
{
	lead(j, key);
	fprintf(j->mem, "%" PRIu64, value);
}

void
json_int(struct json *j, const char *key, int64_t value)
{
	lead(j, key);
	fprintf(j->mem, "%" PRId64, value);
}

void
json_double(struct json *j, const char *key, double value)
{
	lead(j, key);
	if (isfinite(value))
		fprintf(j->mem, "%.6g", value);
	else
		fputs("null", j->mem);
}

void
json_bool(struct json *j, const char *key, bool value)
{
	lead(j, key);
	fputs(value ? "true" : "false", j->mem);
}

void
json_hex(struct json *j, const char *key, const void *bytes, size_t n)
{
	const unsigned char *b = bytes;

	lead(j, key);
	fputc('"', j->mem);
	for (size_t i = 0; i < n; i++)
		fprintf(j->mem, "%02x", b[i]);
	fputc('"', j->mem);
}

int
json_print(struct json *j, FILE *f, struct err *e)
{
	assert(j->depth == 0);
	fputc('\n', j->mem);
	if (fflush(j->mem) != 0 || ferror(j->mem))
		return err_nomem(e, "a JSON document");
	if (fwrite(j->text, 1, j->len, f) != j->len || fflush(f) != 0)
		return err_os(e, "cannot write the JSON document");
	return 0;
}

int
json_show_on(struct json *j, FILE *f, struct err *e)
{
	int rc = json_print(j, f, e);

	json_free(j);
	return rc;
}

int
json_show(struct json *j, struct err *e)
{
	return json_show_on(j, stdout, e);
}
