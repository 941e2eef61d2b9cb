/* s3_list.c: what the elements of an object store's answer mean: a page of a list of
 * objects, or an error.  Called by s3.c and s3_call.c, in any thread. */
#include "emustore/s3/s3_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/plain.h"
#include "emustore/s3/xml.h"

enum { EMPTY_MAX = 100 }; /* a server may end a page before it has found an object */

static int
err_list(struct err *e, const char *why)
{
	return err_set(e, ERR_FORMAT, "the list of objects: %s", why);
}

static bool
get_uint(const char *s, uint64_t *out)
{
	uint64_t v = 0;

	if (*s == '\0' || strlen(s) > 18)
		return false;
	for (; *s >= '0' && *s <= '9'; s++)
		v = 10 * v + (uint64_t)(*s - '0');
	*out = v;
	return *s == '\0';
}

/* "2026-11-21T11:30:12.000Z" */
static bool
get_time(const char *s, uint64_t *out)
{
	struct tm tm = { 0 };
	const char *rest = strptime(s, "%Y-%m-%dT%H:%M:%S", &tm);

	if (rest == NULL || (*rest != '.' && *rest != 'Z'))
		return false;
	time_t t = timegm(&tm);
	*out = (uint64_t)t;
	return t > 0;
}

static bool
copy_text(char *out, size_t cap, const char *text)
{
	size_t n = strlen(text);

	if (n >= cap)
		return false;
	memcpy(out, text, n + 1);
	return true;
}

static bool
copy_etag(char out[OBJECT_ETAG_MAX + 1], const char *text)
{
	size_t n = strlen(text);
	bool quoted = n >= 2 && text[0] == '"' && text[n - 1] == '"';

	if (n - (quoted ? 2 : 0) > OBJECT_ETAG_MAX)
		return false;
	snprintf(out, OBJECT_ETAG_MAX + 1, "%.*s", (int)(n - (quoted ? 2 : 0)),
	    text + (quoted ? 1 : 0));
	return true;
}

struct parse {
	struct object o;
	bool has_key, has_size, has_time;
	struct s3_page *page;
	const char *prefix;
	object_fn *fn;
	void *arg;
	struct err *e; /* set when reading stops */
};

/* Text of an element of one object. */
static bool
object_field(struct parse *p, const char *name, const char *text)
{

	if (strcmp(name, "Key") == 0)
		return p->has_key = copy_text(p->o.key, sizeof p->o.key, text);
	if (strcmp(name, "Size") == 0)
		return p->has_size = get_uint(text, &p->o.bytes);
	if (strcmp(name, "LastModified") == 0)
		return p->has_time = get_time(text, &p->o.modified);
	return strcmp(name, "ETag") != 0 || copy_etag(p->o.etag, text);
}

static bool
page_field(struct parse *p, const char *name, const char *text)
{
	if (strcmp(name, "IsTruncated") == 0)
		p->page->more = strcmp(text, "true") == 0;
	if (strcmp(name, "NextContinuationToken") == 0)
		return copy_text(p->page->token, sizeof p->page->token, text);
	return true;
}

static int
end_object(struct parse *p, struct err *e)
{
	size_t n = strlen(p->prefix);

	if (!p->has_key || !p->has_size || !p->has_time)
		return err_list(e, "an object lacks its key, size or time");
	if (strncmp(p->o.key, p->prefix, n) != 0)
		return err_list(
		    e, "it has an object with another prefix than was asked for");
	if (strcmp(p->o.key, p->page->last) <= 0)
		return err_list(e, "its keys do not ascend");
	strcpy(p->page->last, p->o.key);
	p->page->empty = 0;
	memmove(p->o.key, p->o.key + n, strlen(p->o.key + n) + 1);
	int rc = p->fn(p->arg, &p->o, e);
	memset(&p->o, 0, sizeof p->o);
	p->has_key = p->has_size = p->has_time = false;
	return rc;
}

static bool
in_object(const struct xml *x)
{
	return x->depth >= 2 && strcmp(x->names[1], "Contents") == 0;
}

static int
list_opens(struct parse *p, const struct xml *x)
{
	return x->depth == 1 && strcmp(xml_name(x), "ListBucketResult") != 0
	           ? err_list(p->e, "the answer is not a list of objects")
	           : 0;
}

static int
list_closes(struct parse *p, const struct xml *x)
{
	if (x->depth == 3 && in_object(x) && !object_field(p, xml_name(x), x->text))
		return err_list(p->e, "an object's entry cannot be read");
	if (x->depth != 2)
		return 0;
	if (in_object(x))
		return end_object(p, p->e);
	return page_field(p, xml_name(x), x->text)
	           ? 0
	           : err_list(p->e, "its continuation token is too long");
}

static bool
list_event(void *arg, enum xml_event event, const struct xml *x)
{
	return (event == XML_OPEN ? list_opens(arg, x) : list_closes(arg, x)) == 0;
}

int
s3_list_page(const void *xml, size_t bytes, const char *prefix, struct s3_page *page,
    object_fn *fn, void *arg, struct err *e)
{
	struct parse p = {
		.page = page, .prefix = prefix, .fn = fn, .arg = arg, .e = e
	};

	page->more = false;
	page->token[0] = '\0';
	page->empty++;
	switch (xml_read(xml, bytes, list_event, &p)) {
	case XML_WHOLE:
		break;
	case XML_STOPPED:
		return -1;
	case XML_MALFORMED:
		return err_list(e, "the answer is not valid XML");
	case XML_NO_MEMORY:
		return err_nomem(e, "a list of objects");
	}
	if (page->more && page->token[0] == '\0')
		return err_list(e, "it is incomplete, but has no continuation token");
	if (page->more && page->empty > EMPTY_MAX)
		return err_list(e, "it goes on and on without an object");
	return 0;
}

struct answer {
	char code[64], message[200];
};

static bool
error_event(void *arg, enum xml_event event, const struct xml *x)
{
	struct answer *a = arg;

	if (event == XML_CLOSE && x->depth == 2 && strcmp(xml_name(x), "Code") == 0)
		snprintf(a->code, sizeof a->code, "%.63s", x->text);
	if (event == XML_CLOSE && x->depth == 2 && strcmp(xml_name(x), "Message") == 0)
		snprintf(a->message, sizeof a->message, "%.199s", x->text);
	return true;
}

void
s3_error_text(const void *xml, size_t bytes, char *out, size_t cap)
{
	struct answer a = { 0 };

	xml_read(xml, bytes, error_event, &a); /* what came before a mistake counts */
	plain_text(a.code); /* they become parts of a sentence */
	plain_text(a.message);
	snprintf(out, cap, "%s%s%s", a.code, a.code[0] && a.message[0] ? ": " : "",
	    a.message);
}
