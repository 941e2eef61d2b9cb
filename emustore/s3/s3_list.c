#include "emustore/s3/s3_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/plain.h"
#include "emustore/s3/xml.h"

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
	struct xml x;
	struct object o;
	bool has_key, has_size, has_time;
	struct s3_page *page;
	const char *prefix;
	object_fn *fn;
	void *arg;
};

/* Text of an element of one object. */
static bool
object_field(struct parse *p)
{
	const char *name = xml_name(&p->x), *text = p->x.text;

	if (strcmp(name, "Key") == 0)
		return p->has_key = copy_text(p->o.key, sizeof p->o.key, text);
	if (strcmp(name, "Size") == 0)
		return p->has_size = get_uint(text, &p->o.bytes);
	if (strcmp(name, "LastModified") == 0)
		return p->has_time = get_time(text, &p->o.modified);
	return strcmp(name, "ETag") != 0 || copy_etag(p->o.etag, text);
}

static bool
page_field(struct parse *p)
{
	const char *name = xml_name(&p->x), *text = p->x.text;

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
		return err_list(e, "it has an object that was not asked for");
	if (strcmp(p->o.key, p->page->last) <= 0)
		return err_list(e, "its keys do not ascend");
	strcpy(p->page->last, p->o.key);
	memmove(p->o.key, p->o.key + n, strlen(p->o.key + n) + 1);
	int rc = p->fn(p->arg, &p->o, e);
	memset(&p->o, 0, sizeof p->o);
	p->has_key = p->has_size = p->has_time = false;
	return rc;
}

static bool
in_object(const struct parse *p)
{
	return p->x.depth >= 2 && strcmp(p->x.names[1], "Contents") == 0;
}

static int
parse_page(struct parse *p, struct err *e)
{
	enum xml_event v;

	while ((v = xml_next(&p->x)) != XML_END) {
		if (v == XML_BAD)
			return err_list(e, "is no XML that can be read");
		if (v == XML_OPEN && p->x.depth == 1 &&
		    strcmp(xml_name(&p->x), "ListBucketResult") != 0)
			return err_list(e, "is none");
		if (v == XML_TEXT && p->x.depth == 3 && in_object(p) &&
		    !object_field(p))
			return err_list(e, "an object's entry cannot be read");
		if (v == XML_TEXT && p->x.depth == 2 && !page_field(p))
			return err_list(e, "its token is too long");
		if (v == XML_CLOSE && p->x.depth == 2 && in_object(p) &&
		    end_object(p, e) != 0)
			return -1;
	}
	if (p->page->more && p->page->token[0] == '\0')
		return err_list(e, "it has more, but does not say where");
	return 0;
}

int
s3_list_page(const void *xml, size_t bytes, const char *prefix, struct s3_page *page,
    object_fn *fn, void *arg, struct err *e)
{
	struct parse *p = calloc(1, sizeof *p);

	if (p == NULL)
		return err_nomem(e, "a list of objects");
	xml_from(&p->x, xml, bytes);
	p->page = page;
	p->prefix = prefix;
	p->fn = fn;
	p->arg = arg;
	page->more = false;
	page->token[0] = '\0';
	int rc = parse_page(p, e);
	free(p);
	return rc;
}

void
s3_error_text(const void *xml, size_t bytes, char *out, size_t cap)
{
	char code[64] = "", message[200] = "";
	struct xml x;
	enum xml_event v;

	xml_from(&x, xml, bytes);
	while ((v = xml_next(&x)) != XML_END && v != XML_BAD) {
		if (v != XML_TEXT || x.depth != 2)
			continue;
		plain_text(x.text); /* it becomes part of a sentence */
		if (strcmp(xml_name(&x), "Code") == 0)
			snprintf(code, sizeof code, "%.63s", x.text);
		if (strcmp(xml_name(&x), "Message") == 0)
			snprintf(message, sizeof message, "%.199s", x.text);
	}
	snprintf(out, cap, "%s%s%s", code, code[0] && message[0] ? ": " : "", message);
}
