/* jtree.c: reads JSON with json-c (jtree.h).  The controller and swapin call this, each in its first
 * thread, and fitplan_text.c in the one that calls it. */
#include "common/base/jtree.h"

#include <json-c/json.h>
#include <limits.h>
#include <string.h>

#include "common/base/say.h"

enum { DEEP = 32 };

static struct json_object *
of(const struct jtree *t)
{
	return (struct json_object *)(uintptr_t)t;
}

static int
read_with(struct json_tokener *tok, struct jtree **out, const char *text, size_t bytes, struct err *e)
{
	json_tokener_set_flags(tok, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	struct json_object *o = json_tokener_parse_ex(tok, text, (int)bytes);
	enum json_tokener_error why = json_tokener_get_error(tok);

	/* A number may go on until something ends it. */
	if (why == json_tokener_continue)
		o = json_tokener_parse_ex(tok, "", -1), why = json_tokener_get_error(tok);
	*out = (struct jtree *)o;
	if (why == json_tokener_success && o != NULL)
		return 0;
	json_object_put(o);
	*out = NULL;
	return err_set(e, ERR_FORMAT, "this is not JSON: %s",
	    why == json_tokener_success ? "null" : json_tokener_error_desc(why));
}

/* JSON_TOKENER_STRICT lets blanks behind the value pass, and nothing else. */
int
jtree_read(struct jtree **out, const char *text, size_t bytes, struct err *e)
{
	struct json_tokener *tok = json_tokener_new_ex(DEEP);

	*out = NULL;
	if (tok == NULL)
		return err_nomem(e, "a JSON text");
	int rc = bytes <= INT_MAX && memchr(text, '\0', bytes) == NULL
	             ? read_with(tok, out, text, bytes, e)
	             : err_set(e, ERR_FORMAT, "this is not JSON: it has a NUL character");
	json_tokener_free(tok);
	return rc;
}

void
jtree_free(struct jtree *t)
{
	json_object_put(of(t));
}

enum jtree_kind
jtree_is(const struct jtree *t)
{
	switch (json_object_get_type(of(t))) {
	case json_type_string:
		return JTREE_TEXT;
	case json_type_int:
	case json_type_double:
		return JTREE_NUMBER;
	case json_type_boolean:
		return JTREE_BOOL;
	case json_type_array:
		return JTREE_ARRAY;
	case json_type_object:
		return JTREE_OBJECT;
	default:
		return JTREE_OTHER;
	}
}

size_t
jtree_count(const struct jtree *t)
{
	enum jtree_kind kind = jtree_is(t);

	return kind == JTREE_ARRAY    ? json_object_array_length(of(t))
	       : kind == JTREE_OBJECT ? (size_t)json_object_object_length(of(t))
				     : 0;
}

const struct jtree *
jtree_get(const struct jtree *t, const char *key)
{
	struct json_object *v = NULL;

	if (jtree_is(t) == JTREE_OBJECT)
		json_object_object_get_ex(of(t), key, &v);
	return (const struct jtree *)v;
}

const struct jtree *
jtree_at(const struct jtree *t, size_t i)
{
	if (jtree_is(t) != JTREE_ARRAY || i >= jtree_count(t))
		return NULL;
	return (const struct jtree *)json_object_array_get_idx(of(t), i);
}

const char *
jtree_text(const struct jtree *t)
{
	if (jtree_is(t) != JTREE_TEXT)
		return NULL;
	const char *text = json_object_get_string(of(t));
	return text != NULL && strlen(text) == (size_t)json_object_get_string_len(of(t)) ? text
	                                                                                 : NULL;
}

double
jtree_number(const struct jtree *t, double otherwise)
{
	return jtree_is(t) == JTREE_NUMBER ? json_object_get_double(of(t)) : otherwise;
}

bool
jtree_whole(const struct jtree *t, uint64_t *v)
{
	uint64_t n = json_object_get_uint64(of(t));

	/* json-c makes the largest number of each one that is too large. */
	if (json_object_get_type(of(t)) != json_type_int || json_object_get_int64(of(t)) < 0 ||
	    n == UINT64_MAX)
		return false;
	*v = n;
	return true;
}

bool
jtree_true(const struct jtree *t)
{
	return jtree_is(t) == JTREE_BOOL && json_object_get_boolean(of(t));
}

void
jtree_print(const struct jtree *t, FILE *f)
{
	const char *at = json_object_to_json_string_ext(of(t),
	    JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE);

	while (at != NULL && *at != '\0') {
		size_t n = strcspn(at, "\n");
		say_text(f, "%.*s\n", (int)n, at);
		at += n + (at[n] == '\n');
	}
}
