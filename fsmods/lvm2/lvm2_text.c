/* lvm2_text.c: parses the text of LVM2's metadata: name = value, name { ... }, [ a, b ],
 * # comment. lvm2.c and lvm2_label.c call this, in the thread that scans. */
#include <string.h>

#include "fsmods/lvm2/lvm2_impl.h"

static int
damaged(struct err *e)
{
	return err_set(e, ERR_FORMAT, "the metadata text is damaged");
}

bool
lvm_text_is(struct lvm_text t, const char *s)
{
	return t.len == strlen(s) && memcmp(t.p, s, t.len) == 0;
}

bool
lvm_text_same(struct lvm_text a, struct lvm_text b)
{
	return a.len == b.len && memcmp(a.p, b.p, a.len) == 0;
}

static void
advance(struct lvm_text *t, size_t n)
{
	t->p += n;
	t->len -= n;
}

static bool
is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void
skip_comment(struct lvm_text *t)
{
	const char *end = memchr(t->p, '\n', t->len);

	advance(t, end != NULL ? (size_t)(end - t->p) : t->len);
}

/* Skip white space, comments, and the character `also` (0: none). */
static void
skip_space(struct lvm_text *t, char also)
{
	while (t->len > 0)
		if (is_space(*t->p) || (also != 0 && *t->p == also))
			advance(t, 1);
		else if (*t->p == '#')
			skip_comment(t);
		else
			break;
}

/* Take a string, whose opening quote is next. Backslashes stay in the text. */
static int
take_string(struct lvm_text *t, struct lvm_text *s, struct err *e)
{
	size_t n = 1;

	while (n < t->len && t->p[n] != '"')
		n += t->p[n] == '\\' ? 2 : 1;
	if (n >= t->len)
		return damaged(e);
	*s = (struct lvm_text){ t->p + 1, n - 1 };
	advance(t, n + 1);
	return 0;
}

/* Take what stands between an opening bracket, which is next, and its closing bracket. */
static int
take_body(
    struct lvm_text *t, char open, char close, struct lvm_text *body, struct err *e)
{
	const char *start = t->p + 1;
	struct lvm_text ignored;
	size_t depth = 0;

	while (t->len > 0) {
		char c = *t->p;
		if (c == '"') {
			if (take_string(t, &ignored, e) != 0)
				return -1;
			continue;
		}
		if (c == '#') {
			skip_comment(t);
			continue;
		}
		advance(t, 1);
		if (c == open)
			depth++;
		if (c == close && --depth == 0) {
			*body = (struct lvm_text){ start, (size_t)(t->p - 1 - start) };
			return 0;
		}
	}
	return damaged(e);
}

static bool
is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' || c == '+' ||
	       c == '/' || c == '@';
}

static struct lvm_text
take_word(struct lvm_text *t)
{
	struct lvm_text w = { t->p, 0 };

	while (w.len < t->len && is_word(t->p[w.len]))
		w.len++;
	advance(t, w.len);
	return w;
}

/* Take a number of digits only; the module needs no other values, which become LVM_OTHER. */
static void
set_number(struct lvm_item *i, struct lvm_text w)
{
	i->kind = LVM_NUMBER;
	for (size_t k = 0; k < w.len; k++) {
		unsigned digit = (unsigned)(w.p[k] - '0');
		if (w.p[k] < '0' || w.p[k] > '9' ||
		    i->number > (UINT64_MAX - digit) / 10) {
			i->kind = LVM_OTHER;
			return;
		}
		i->number = i->number * 10 + digit;
	}
}

static int
take_value(struct lvm_text *t, struct lvm_item *i, struct err *e)
{
	if (t->len == 0)
		return damaged(e);
	if (*t->p == '"') {
		i->kind = LVM_STRING;
		return take_string(t, &i->text, e);
	}
	if (*t->p == '[') {
		i->kind = LVM_LIST;
		return take_body(t, '[', ']', &i->text, e);
	}
	struct lvm_text w = take_word(t);
	if (w.len == 0)
		return damaged(e);
	set_number(i, w);
	return 0;
}

int
lvm_next(struct lvm_text *rest, struct lvm_item *i, struct err *e)
{
	*i = (struct lvm_item){ 0 };
	skip_space(rest, 0);
	if (rest->len == 0)
		return 0;
	i->name = take_word(rest);
	skip_space(rest, 0);
	if (i->name.len == 0 || rest->len == 0)
		return damaged(e);
	if (*rest->p == '{') {
		i->kind = LVM_SECTION;
		return take_body(rest, '{', '}', &i->text, e) == 0 ? 1 : -1;
	}
	if (*rest->p != '=')
		return damaged(e);
	advance(rest, 1);
	skip_space(rest, 0);
	return take_value(rest, i, e) == 0 ? 1 : -1;
}

int
lvm_list_next(struct lvm_text *rest, struct lvm_item *i, struct err *e)
{
	*i = (struct lvm_item){ 0 };
	skip_space(rest, ',');
	if (rest->len == 0)
		return 0;
	return take_value(rest, i, e) == 0 ? 1 : -1;
}

int
lvm_get(struct lvm_text body, const char *name, enum lvm_kind kind, struct lvm_item *i,
    struct err *e)
{
	int rc;

	while ((rc = lvm_next(&body, i, e)) == 1)
		if (lvm_text_is(i->name, name))
			break;
	if (rc < 0)
		return -1;
	if (rc == 0 || i->kind != kind)
		return err_set(
		    e, ERR_FORMAT, "the metadata text has no valid \"%s\"", name);
	return 0;
}

int
lvm_list_known(
    struct lvm_text list, const char *const known[], unsigned *seen, struct err *e)
{
	struct lvm_item i;
	int rc;

	*seen = 0;
	while ((rc = lvm_list_next(&list, &i, e)) == 1) {
		unsigned k = 0;
		while (known[k] != NULL &&
		       !(i.kind == LVM_STRING && lvm_text_is(i.text, known[k])))
			k++;
		if (known[k] == NULL)
			return 0;
		*seen |= 1u << k;
	}
	return rc < 0 ? -1 : 1;
}
