/* json.c: json [-1] [-l] [-d TEXT] FILE [PATH | FACT]...: print members of the JSON document
 * in FILE ("-": standard input), or say whether they are what a test expects.  Tests' scripts
 * call it as json (tests/cli/lib.sh), in one thread.
 *	a.b  [0].b  a[-1]	a member, an element, one from the end
 *	a["b.c"]		a member whose name has other characters
 *	a[*].b			of each element or member
 *	a[b=text].c		of those whose member b is that text
 *	a[*].b,c		both of each, with a colon between them
 *	a[#]			how many elements or members, or bytes of a text, it has
 *	a=1  a!=x  a<9  a>=9	a fact: must be so of all that the path names; not printed
 *	a~regex  a!~regex	an extended regular expression matches a part of it
 *	a?  a!?			it is there; it is not
 * Each value is a line; with -1 those of a document are words of one line.  -l: each line of
 * FILE is a document, of which the same is asked.  -d TEXT: printed for what is not there.
 * Without a path, FILE must be one document.  Exit 1, with a sentence: it is none, a member
 * is not there, or a fact does not hold; 2: wrong use. */
#include <errno.h>
#include <json-c/json.h>
#include <limits.h>
#include <regex.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *file, *otherwise;
static bool words, lines, printed;

__attribute__((format(printf, 1, 2), noreturn)) static void
end(const char *form, ...)
{
	va_list ap;

	if (printed)
		putchar('\n');
	fflush(stdout);
	fprintf(stderr, "json: %s: ", strcmp(file, "-") != 0 ? file : "standard input");
	va_start(ap, form);
	vfprintf(stderr, form, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

/* What a path leads to: printed, or compared with what a fact says. */
struct question {
	const char *path;
	const char *end;  /* of the path: the relation follows */
	const char *than; /* behind the relation; NULL when there is none */
	const char *relation;
	unsigned found;
};

static const char *
text_of(struct json_object *v)
{
	return v == NULL ? "null"
	       : json_object_get_type(v) == json_type_string
	           ? json_object_get_string(v)
	           : json_object_to_json_string_ext(v,
			 JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
}

/* Below, at or above 0, as `text` is less than, the same as or more than the other. */
static int
compared(const char *text, const struct question *q)
{
	char *end_a, *end_b;
	long double a = strtold(text, &end_a), b = strtold(q->than, &end_b);

	if (*text == '\0' || *q->than == '\0' || *end_a != '\0' || *end_b != '\0') {
		if (strchr("<>", q->relation[0]) != NULL)
			end("%s: `%.300s' is no number", q->path, *end_b ? q->than : text);
		return strcmp(text, q->than);
	}
	return (a > b) - (a < b);
}

static bool
matches(const char *text, const struct question *q)
{
	regex_t regex;

	if (regcomp(&regex, q->than, REG_EXTENDED | REG_NOSUB) != 0)
		end("%s: this is no regular expression", q->path);
	bool yes = regexec(&regex, text, 0, NULL, 0) == 0;
	regfree(&regex);
	return yes;
}

static bool
holds(const char *text, const struct question *q)
{
	const char *r = q->relation;

	if (strcmp(r, "~") == 0 || strcmp(r, "!~") == 0)
		return matches(text, q) == (r[0] == '~');
	int c = compared(text, q);
	return strcmp(r, "=") == 0    ? c == 0
	       : strcmp(r, "!=") == 0 ? c != 0
	       : strcmp(r, "<") == 0  ? c < 0
	       : strcmp(r, "<=") == 0 ? c <= 0
	       : strcmp(r, ">") == 0  ? c > 0
				      : c >= 0;
}

static void
answer_text(struct question *q, const char *text)
{
	q->found++;
	if (q->relation[0] == '?' || strcmp(q->relation, "!?") == 0)
		return;
	if (q->than != NULL && !holds(text, q))
		end("%s: it is %.300s", q->path, text);
	if (q->than != NULL)
		return;
	printf("%s%s", !printed ? "" : words ? " " : "\n", text);
	printed = true;
}

/* A text that reads as a word of JSON is not that word. */
static void
answer(struct question *q, struct json_object *o)
{
	if (q->relation[0] == '=' && json_object_is_type(o, json_type_string) &&
	    (strcmp(q->than, "true") == 0 || strcmp(q->than, "false") == 0 ||
		strcmp(q->than, "null") == 0))
		end("%s: it is the text \"%.300s\"", q->path, text_of(o));
	answer_text(q, text_of(o));
}

static void walk(struct question *, struct json_object *, const char *at);

static void
member(struct question *q, struct json_object *o, const char *name, size_t n,
    const char *rest)
{
	char *key = strndup(name, n);
	struct json_object *v;

	if (key != NULL && json_object_is_type(o, json_type_object) &&
	    json_object_object_get_ex(o, key, &v))
		walk(q, v, rest);
	free(key);
}

/* Of names with commas between them, with colons between the values: at[n]. */
static void
several(struct question *q, struct json_object *o, const char *at, size_t n)
{
	char *names = strndup(at, n), *rest = names, *name, *text = NULL;
	size_t bytes;
	FILE *f = names == NULL ? NULL : open_memstream(&text, &bytes);
	struct json_object *v;

	if (f == NULL)
		end("%s", strerror(errno));
	while ((name = strsep(&rest, ",")) != NULL) {
		if (!json_object_object_get_ex(o, name, &v))
			end("%s: %s is not there: %.300s", q->path, name, text_of(o));
		fprintf(f, "%s%s", name == names ? "" : ":", text_of(v));
	}
	fclose(f);
	answer_text(q, text);
	free(text);
	free(names);
}

static void
element(struct question *q, struct json_object *o, long i, const char *rest)
{
	if (!json_object_is_type(o, json_type_array))
		return;
	long n = (long)json_object_array_length(o);
	if (i < 0)
		i += n;
	if (i >= 0 && i < n)
		walk(q, json_object_array_get_idx(o, (size_t)i), rest);
}

static void
how_many(struct question *q, struct json_object *o)
{
	size_t n = json_object_is_type(o, json_type_array)    ? json_object_array_length(o)
	           : json_object_is_type(o, json_type_object) ? (size_t)json_object_object_length(o)
							      : strlen(text_of(o));
	char text[24];

	snprintf(text, sizeof(text), "%zu", n);
	answer_text(q, text);
}

/* Has `o` the member that begins at `at`, and is it the text behind '=', up to `close`? */
static bool
chosen(struct json_object *o, const char *at, const char *equals, const char *close)
{
	char *key = strndup(at, (size_t)(equals - at));
	struct json_object *v;
	bool is = false;

	if (key != NULL && json_object_object_get_ex(o, key, &v)) {
		const char *text = text_of(v);
		size_t n = (size_t)(close - equals - 1);
		is = strlen(text) == n && memcmp(text, equals + 1, n) == 0;
	}
	free(key);
	return is;
}

/* Of each element or member, or of those that have what is between `at` and `close`. */
static void
each(struct question *q, struct json_object *o, const char *at, const char *close)
{
	const char *equals = memchr(at, '=', (size_t)(close - at));

	if (json_object_is_type(o, json_type_object)) {
		json_object_object_foreach(o, key, v) {
			(void)key;
			if (equals == NULL || chosen(v, at, equals, close))
				walk(q, v, close + 1);
		}
	}
	if (!json_object_is_type(o, json_type_array))
		return;
	/* There may be none. */
	q->found += equals == NULL && json_object_array_length(o) == 0;
	for (size_t i = 0; i < json_object_array_length(o); i++) {
		struct json_object *v = json_object_array_get_idx(o, i);
		if (equals == NULL || chosen(v, at, equals, close))
			walk(q, v, close + 1);
	}
}

/* What is in brackets: the path goes on behind them. */
static void
bracket(struct question *q, struct json_object *o, const char *at)
{
	bool quoted = *at == '"';
	const char *close = quoted ? strstr(at + 1, "\"]") : strchr(at, ']');
	char *number_end;

	if (close == NULL)
		end("%s: a bracket is not closed", q->path);
	long i = strtol(at, &number_end, 10);
	if (quoted)
		member(q, o, at + 1, (size_t)(close - at - 1), close + 2);
	else if (strncmp(at, "#]", 2) == 0)
		how_many(q, o);
	else if (number_end == close && close > at)
		element(q, o, i, close + 1);
	else if (*at == '*' || memchr(at, '=', (size_t)(close - at)) != NULL)
		each(q, o, at, close);
	else
		end("%s: what is in brackets is not known", q->path);
}

static void
walk(struct question *q, struct json_object *o, const char *at)
{
	if (at < q->end && *at == '.')
		at++;
	if (at >= q->end)
		answer(q, o);
	else if (*at == '[')
		bracket(q, o, at + 1);
	else {
		size_t n = strcspn(at, ".[");
		n = at + n > q->end ? (size_t)(q->end - at) : n;
		if (memchr(at, ',', n) != NULL)
			several(q, o, at, n);
		else
			member(q, o, at, n, at + n);
	}
}

/* Where the path ends, and a relation begins; what is in brackets belongs to the path. */
static struct question
understood(const char *arg)
{
	static const char *const relations[] = { "!=", "!~", "!?", "<=", ">=", "=", "<", ">",
		"~", "?" };
	struct question q = { .path = arg, .end = arg, .relation = "" };

	while (*q.end != '\0' && strchr("=!<>~?", *q.end) == NULL) {
		const char *close = *q.end == '[' ? strchr(q.end, ']') : NULL;
		q.end = close != NULL ? close : q.end + 1;
	}
	for (size_t i = 0; i < sizeof(relations) / sizeof(relations[0]) && q.than == NULL; i++) {
		size_t n = strlen(relations[i]);
		if (strncmp(q.end, relations[i], n) == 0) {
			q.relation = relations[i];
			q.than = q.end + n;
		}
	}
	if (*q.end != '\0' && q.than == NULL)
		end("%s: this relation is not known", arg);
	return q;
}

static void
ask(struct json_object *doc, const char *arg)
{
	struct question q = understood(arg);

	walk(&q, doc, q.path);
	if (strcmp(q.relation, "!?") == 0) {
		if (q.found != 0)
			end("%s: it is there", arg);
	} else if (q.found == 0 && q.than == NULL && otherwise != NULL)
		answer_text(&q, otherwise);
	else if (q.found == 0)
		end("%.*s is not there: %.300s", (int)(q.end - arg), arg, text_of(doc));
}

static bool
may_be_outside(char c)
{
	return c != '\0' && strchr("{}[]:,+-.0123456789eEtrufalsn \t\r\n", c) != NULL;
}

/* json-c takes what RFC 8259 does not: 'texts', NaN, control characters in texts. */
static bool
has_other_characters(const char *text, size_t bytes)
{
	bool inside = false;

	for (const char *p = text; p < text + bytes; p++) {
		if (*p == '"')
			inside = !inside;
		else if (inside ? (unsigned char)*p < ' ' : !may_be_outside(*p))
			return true;
		else if (inside && *p == '\\')
			p++;
	}
	return false;
}

static struct json_object *
parsed(const char *text, size_t bytes)
{
	struct json_tokener *tok = json_tokener_new_ex(64);

	if (tok == NULL || bytes > INT_MAX)
		end("it is too large");
	json_tokener_set_flags(tok, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	struct json_object *doc = json_tokener_parse_ex(tok, text, (int)bytes);
	enum json_tokener_error why = json_tokener_get_error(tok);
	/* A number may go on until something ends it. */
	if (why == json_tokener_continue)
		doc = json_tokener_parse_ex(tok, "", -1),
		why = json_tokener_get_error(tok);
	if (why != json_tokener_success || has_other_characters(text, bytes))
		end("this is not JSON: %s: %.*s", json_tokener_error_desc(why),
		    (int)strcspn(text, "\n"), text);
	json_tokener_free(tok);
	return doc;
}

static void
document(const char *text, size_t bytes, char **args)
{
	struct json_object *doc = parsed(text, bytes);

	for (; *args != NULL; args++)
		ask(doc, *args);
	json_object_put(doc);
	if (printed)
		putchar('\n');
	printed = false;
}

/* Nothing in JSON is a NUL, so what goes to the first one is the whole file. */
static void
all_of(FILE *f, char **args)
{
	char *text = NULL;
	size_t room = 0;
	ssize_t n;
	unsigned documents = 0;

	while ((n = getdelim(&text, &room, lines ? '\n' : '\0', f)) > 0) {
		if (!lines && (documents > 0 || memchr(text, '\0', (size_t)n) != NULL))
			end("this is not JSON: it has a NUL character");
		document(text, (size_t)n, args);
		documents++;
	}
	if (ferror(f))
		end("%s", strerror(errno));
	if (documents == 0)
		end("it is empty");
	free(text);
}

int
main(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "+1ld:")) != -1)
		switch (c) {
		case '1': words = true; break;
		case 'l': lines = true; break;
		case 'd': otherwise = optarg; break;
		default: return 2;
		}
	file = argv[optind];
	if (file == NULL) {
		fputs("usage: json [-1] [-l] [-d TEXT] FILE [PATH | FACT]...\n", stderr);
		return 2;
	}
	FILE *f = strcmp(file, "-") == 0 ? stdin : fopen(file, "r");
	if (f == NULL)
		end("%s", strerror(errno));
	all_of(f, argv + optind + 1);
	return fflush(stdout) == 0 ? 0 : 1;
}
