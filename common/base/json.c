/* json.c: builds a JSON document in memory and prints it whole.  Programs call this for
 * --json, and libraries add their members to the program's document.  One document belongs
 * to one thread at a time. */
#include "common/base/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/plain.h"
#include "common/base/replace.h"

enum { DEPTH_MAX = 32 };

struct json {
	FILE *mem;
	char *text;
	size_t len;
	int depth;
	bool one_line;
	bool first; /* nothing was added yet to the innermost object or array */
	char closers[DEPTH_MAX];
};

/* A document for which there was no memory.  Nothing is added to it. */
static struct json unmade;

struct json *
json_new(void)
{
	struct json *j = calloc(1, sizeof *j);

	if (j == NULL)
		return &unmade;
	j->first = true;
	j->mem = open_memstream(&j->text, &j->len);
	if (j->mem != NULL)
		return j;
	free(j);
	return &unmade;
}

/* Is there a document that something can be added to? */
static bool
is_there(const struct json *j)
{
	return j != NULL && j->mem != NULL;
}

void
json_free(struct json *j)
{
	if (!is_there(j))
		return;
	fclose(j->mem);
	free(j->text);
	free(j);
}

static void
put_quoted(struct json *j, const char *value)
{
	size_t left = strlen(value);
	uint32_t code;

	fputc('"', j->mem);
	while (left > 0) {
		size_t n = plain_char(value, left, &code);
		if (n == 0) { /* not UTF-8: write the replacement character */
			fputs("\\ufffd", j->mem);
			n = 1;
		} else if (code == '"' || code == '\\') {
			fprintf(j->mem, "\\%c", (int)code);
		} else if (plain_is_harmful(code)) {
			fprintf(j->mem, "\\u%04x", code);
		} else {
			fwrite(value, 1, n, j->mem);
		}
		value += n;
		left -= n;
	}
	fputc('"', j->mem);
}

void
json_one_line(struct json *j)
{
	if (is_there(j))
		j->one_line = true;
}

static void
newline(struct json *j)
{
	if (!j->one_line)
		fprintf(j->mem, "\n%*s", 2 * j->depth, "");
}

/* Write what stands in front of any value: comma, newline and key.  Returns whether
 * there is a document. */
static bool
lead(struct json *j, const char *key)
{
	if (!is_there(j))
		return false;
	if (!j->first)
		fputc(',', j->mem);
	if (j->depth > 0)
		newline(j);
	j->first = false;
	if (key != NULL) {
		put_quoted(j, key);
		fputs(": ", j->mem);
	}
	return true;
}

static void
json_open(struct json *j, const char *key, char opener, char closer)
{
	if (!lead(j, key))
		return;
	assert(j->depth < DEPTH_MAX);
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
	if (!is_there(j))
		return;
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
	if (lead(j, key))
		put_quoted(j, value);
}

void
json_uint(struct json *j, const char *key, uint64_t value)
{
	if (lead(j, key))
		fprintf(j->mem, "%" PRIu64, value);
}

void
json_int(struct json *j, const char *key, int64_t value)
{
	if (lead(j, key))
		fprintf(j->mem, "%" PRId64, value);
}

void
json_double(struct json *j, const char *key, double value)
{
	if (!lead(j, key))
		return;
	if (isfinite(value))
		fprintf(j->mem, "%.6g", value);
	else
		fputs("null", j->mem);
}

void
json_bool(struct json *j, const char *key, bool value)
{
	if (lead(j, key))
		fputs(value ? "true" : "false", j->mem);
}

void
json_hex(struct json *j, const char *key, const void *bytes, size_t n)
{
	const unsigned char *b = bytes;

	if (!lead(j, key))
		return;
	fputc('"', j->mem);
	for (size_t i = 0; i < n; i++)
		fprintf(j->mem, "%02x", b[i]);
	fputc('"', j->mem);
}

static int
complete(struct json *j, struct err *e)
{
	if (is_there(j)) {
		assert(j->depth == 0);
		fputc('\n', j->mem);
		if (fflush(j->mem) == 0 && !ferror(j->mem))
			return 0;
	}
	return err_nomem(e, "a JSON document");
}

int
json_save(struct json *j, const char *path, struct err *e)
{
	return complete(j, e) == 0
	           ? replace_file(path, j->text, j->len, 0644, REPLACE_UNSYNCED, e)
	           : -1;
}

static int
print(struct json *j, FILE *f, struct err *e)
{
	if (j == NULL)
		return 0;
	if (complete(j, e) != 0)
		return -1;
	if (fwrite(j->text, 1, j->len, f) != j->len || fflush(f) != 0)
		return err_os(e, "cannot write the JSON document");
	return 0;
}

int
json_show_on(struct json *j, FILE *f, struct err *e)
{
	int rc = print(j, f, e);

	json_free(j);
	return rc;
}

int
json_show(struct json *j, struct err *e)
{
	return json_show_on(j, stdout, e);
}

char *
json_text(struct json *j, size_t *bytes)
{
	struct err ignored;

	if (complete(j, &ignored) != 0) {
		json_free(j);
		return NULL;
	}
	fclose(j->mem); /* it has all of it, and may move it */
	char *text = j->text;
	*bytes = j->len;
	free(j);
	return text;
}
