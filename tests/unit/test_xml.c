/* The elements of an object store's answers: what is given out, and what is refused. */
#include <stdlib.h>
#include <string.h>

#include "emustore/s3/xml.h"
#include "tests/t.h"

struct seen {
	char told[4096]; /* "+name" for an element that opens, "-name=text" for one that closes */
	unsigned stop_at, events;
};

static bool
note(void *arg, enum xml_event event, const struct xml *x)
{
	struct seen *s = arg;
	size_t at = strlen(s->told);

	snprintf(s->told + at, sizeof s->told - at, "%c%s%s%s ", event == XML_OPEN ? '+' : '-',
	    xml_name(x), event == XML_CLOSE ? "=" : "", event == XML_CLOSE ? x->text : "");
	return ++s->events != s->stop_at;
}

static enum xml_outcome
reads(const char *text, size_t len, struct seen *s)
{
	char *copy = malloc(len + 1); /* of its own, so that a sanitizer sees its end */
	memcpy(copy, text, len);
	enum xml_outcome outcome = xml_read(copy, len, note, s);
	free(copy);
	return outcome;
}

static bool
is_refused(const char *text)
{
	struct seen s = { 0 };

	return reads(text, strlen(text), &s) == XML_MALFORMED;
}

static void
test_elements(void)
{
	static const char text[] =
	    "<?xml version='1.0' encoding='ISO-8859-1'?><!-- c --><a x=\"1>2\">\n"
	    " <b>p&amp;q &#x41;\xc3\xa9</b><c/><d><![CDATA[<e>&]]></d> behind</a>\n";
	struct seen s = { 0 };

	T_CHECK(reads(text, strlen(text), &s) == XML_WHOLE);
	T_CHECK(strcmp(s.told, "+a +b -b=p&q A\xc3\xa9 +c -c= +d -d=<e>& -a= behind ") == 0);
	bool all = true;
	for (size_t len = 0; len + 1 < strlen(text); len++)
		all = all && reads(text, len, &(struct seen){ 0 }) == XML_MALFORMED;
	T_CHECK(all);
}

static void
test_stop(void)
{
	for (unsigned at = 1; at <= 4; at++) { /* an empty element's end may follow its beginning */
		struct seen s = { .stop_at = at };
		T_CHECK(reads("<a><b/></a>", 11, &s) == XML_STOPPED);
		T_CHECK(s.events == at);
	}
}

static void
test_refused(void)
{
	T_CHECK(is_refused(""));
	T_CHECK(is_refused("<a></b>"));
	T_CHECK(is_refused("<a/><a/>"));
	T_CHECK(is_refused("<a>&unknown;</a>"));
	T_CHECK(is_refused("<a>&#0;</a>"));
	T_CHECK(is_refused("<a>\xff</a>"));
	T_CHECK(is_refused("<!DOCTYPE a><a/>"));
	T_CHECK(is_refused("<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>"));
	T_CHECK(is_refused("<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>"));
}

/* `before`, n times `c`, `behind`. */
static enum xml_outcome
reads_long(const char *before, char c, size_t n, const char *behind)
{
	char text[XML_TEXT_MAX + 100];
	struct seen s = { 0 };

	int at = snprintf(text, sizeof text, "%s", before);
	memset(text + at, c, n);
	snprintf(text + at + n, sizeof text - n - (size_t)at, "%s", behind);
	return reads(text, strlen(text), &s);
}

static void
test_limits(void)
{
	char text[(XML_DEPTH_MAX + 1) * 7 + 1] = "";
	struct seen s = { 0 };

	T_CHECK(reads_long("<a>", 'x', XML_TEXT_MAX, "</a>") == XML_WHOLE);
	T_CHECK(reads_long("<a>", 'x', XML_TEXT_MAX + 1, "</a>") == XML_MALFORMED);
	T_CHECK(reads_long("<", 'x', XML_NAME_MAX, "/>") == XML_WHOLE);
	T_CHECK(reads_long("<", 'x', XML_NAME_MAX + 1, "/>") == XML_MALFORMED);
	for (unsigned i = 0; i < XML_DEPTH_MAX; i++)
		strcat(text, "<a>");
	for (unsigned i = 0; i < XML_DEPTH_MAX; i++)
		strcat(text, "</a>");
	T_CHECK(reads(text, strlen(text), &s) == XML_WHOLE);
	memmove(text + 3, text, strlen(text) + 1);
	strcat(text, "</a>");
	T_CHECK(reads(text, strlen(text), &s) == XML_MALFORMED);
}

int
main(void)
{
	test_elements();
	test_stop();
	test_refused();
	test_limits();
	return t_done();
}
