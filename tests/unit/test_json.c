/* JSON documents: what they look like, the document that is not there (NULL), by which
 * a program reports by text in the same function, and one for which there is no
 * memory. */
#include "common/base/json.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/instrumented.h"
#include "tests/t.h"

static void
fill(struct json *j)
{
	json_object(j, NULL);
	json_string(j, "text", "a\"\n\xff");
	json_uint(j, "most", UINT64_MAX);
	json_int(j, "least", INT64_MIN);
	json_double(j, "half", 0.5);
	json_bool(j, "yes", true);
	json_hex(j, "hex", "\x01\xfe", 2);
	json_array(j, "empty");
	json_end(j);
	json_end(j);
}

/* What is printed; the caller frees it. */
static char *
printed(struct json *j)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);
	struct err e;

	T_CHECK(f != NULL && json_show_on(j, f, &e) == 0);
	fclose(f);
	return text;
}

/* The same document in memory. */
static void
test_text(void)
{
	size_t n = 0;
	struct json *j = json_new();

	json_one_line(j);
	json_object(j, NULL);
	json_string(j, "a", "b");
	json_end(j);
	char *text = json_text(j, &n);
	T_CHECK(text != NULL && n == 11 && strcmp(text, "{\"a\": \"b\"}\n") == 0);
	free(text);
	T_CHECK(json_text(NULL, &n) == NULL);
}

static void
test_document(void)
{
	struct json *j = json_new();

	json_object(j, NULL);
	json_uint(j, "n", UINT64_MAX);
	json_array(j, "a");
	json_string(j, NULL, "q\"\\\n\x01\xff\xc3\xa4");
	json_bool(j, NULL, true);
	json_end(j);
	json_string(j, "utf",
	    "\xc0\x80\xe0\x9f\xbf\xed\xa0\x80\xf0\x8f\xbf\xbf\xf4\x90\x80"
	    "\x80\xe0\xa0\x80\xf4\x8f\xbf\xbf");
	json_array(j, "empty");
	json_end(j);
	json_hex(j, "h", "\x00\xff", 2);
	json_end(j);
	char *text = printed(j);
	T_CHECK(strcmp(text,
		    "{\n  \"n\": 18446744073709551615,\n  \"a\": [\n"
		    "    \"q\\\"\\\\\\u000a\\u0001\\ufffd\xc3\xa4\",\n    true\n  ],\n"
		    "  \"utf\": "
		    "\"\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd"
		    "\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd"
		    "\xe0\xa0\x80\xf4\x8f\xbf\xbf\",\n"
		    "  \"empty\": [],\n  \"h\": \"00ff\"\n}\n") == 0);
	free(text);
}

/* Take all memory that there is. */
static void
take_all(void)
{
	static const struct rlimit limit = { 64 << 20, 64 << 20 };
	void *volatile p;

	setrlimit(RLIMIT_AS, &limit);
	for (size_t n = 1 << 20; n >= 16; n /= 2)
		while ((p = malloc(n)) != NULL)
			;
}

static void
test_no_memory(void)
{
	struct err e;
	int status;

	if (T_INSTRUMENTED)
		return; /* its memory has no such limit */
	pid_t child = fork();
	if (child == 0) {
		take_all();
		struct json *j = json_new();
		fill(j);
		_exit(json_show(j, &e) == -1 && e.kind == ERR_NOMEM ? 0 : 1);
	}
	T_CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

static void
test_one_line(void)
{
	struct json *j = json_new();

	json_one_line(j);
	json_array(j, NULL);
	json_uint(j, NULL, 1);
	json_uint(j, NULL, 2);
	json_end(j);
	char *text = printed(j);
	T_CHECK(strcmp(text, "[1,2]\n") == 0);
	free(text);
}

static void
test_none(void)
{
	json_one_line(NULL);
	fill(NULL);
	char *text = printed(NULL);
	T_CHECK(text[0] == '\0');
	free(text);
	json_free(NULL);
}

int
main(void)
{
	test_document();
	test_text();
	test_one_line();
	test_none();
	test_no_memory();
	return t_done();
}
