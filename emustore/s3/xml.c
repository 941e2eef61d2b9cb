#include "emustore/s3/xml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
xml_from(struct xml *x, const void *bytes, size_t len)
{
	memset(x, 0, sizeof *x);
	x->p = bytes;
	x->end = x->p + len;
}

const char *
xml_name(const struct xml *x)
{
	return x->depth > 0 ? x->names[x->depth - 1] : "";
}

static bool
begins(const struct xml *x, const char *with)
{
	size_t n = strlen(with);

	return (size_t)(x->end - x->p) >= n && memcmp(x->p, with, n) == 0;
}

/* Behind the next `what`; false: there is none. */
static bool
skip_past(struct xml *x, const char *what)
{
	const char *at = memmem(x->p, (size_t)(x->end - x->p), what, strlen(what));

	if (at == NULL)
		return false;
	x->p = at + strlen(what);
	return true;
}

static bool
is_name_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == ':' || c == '_' || c == '-' || c == '.';
}

static bool
get_name(struct xml *x, char out[XML_NAME_MAX + 1])
{
	size_t n = 0;

	while (x->p < x->end && is_name_byte(*x->p) && n < XML_NAME_MAX)
		out[n++] = *x->p++;
	out[n] = '\0';
	return n > 0 && x->p < x->end && !is_name_byte(*x->p);
}

static enum xml_event
close_element(struct xml *x)
{
	char name[XML_NAME_MAX + 1];

	x->p += 2;
	if (x->depth == 0 || !get_name(x, name) || strcmp(name, xml_name(x)) != 0)
		return XML_BAD;
	while (x->p < x->end && strchr(" \t\r\n", *x->p) != NULL && *x->p != '\0')
		x->p++;
	if (x->p == x->end || *x->p++ != '>')
		return XML_BAD;
	x->pending_close = true;
	return XML_CLOSE;
}

static enum xml_event
open_element(struct xml *x)
{
	char quote = 0;

	x->p++;
	if (x->depth == XML_DEPTH_MAX || (x->depth == 0 && x->seen) ||
	    !get_name(x, x->names[x->depth]))
		return XML_BAD;
	x->seen = true;
	x->depth++;
	for (; x->p < x->end; x->p++) {
		if (quote != 0)
			quote = *x->p == quote ? 0 : quote;
		else if (*x->p == '"' || *x->p == '\'')
			quote = *x->p;
		else if (*x->p == '<')
			return XML_BAD;
		else if (*x->p == '>')
			break;
	}
	if (x->p == x->end)
		return XML_BAD;
	x->empty = x->p[-1] == '/'; /* its close comes next */
	x->p++;
	return XML_OPEN;
}

/* "&amp;" and the like at x->p: its byte, or -1. */
static int
get_entity(struct xml *x)
{
	static const struct {
		const char *text;
		char byte;
	} known[] = { { "&amp;", '&' }, { "&lt;", '<' }, { "&gt;", '>' },
		{ "&quot;", '"' }, { "&apos;", '\'' } };
	char number[8] = "", *rest;

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (begins(x, known[i].text)) {
			x->p += strlen(known[i].text);
			return known[i].byte;
		}
	for (size_t n = 0; n < sizeof number - 1 && x->p + n < x->end; n++) {
		number[n] = x->p[n];
		if (number[n] == ';')
			break;
	}
	if (number[0] != '&' || number[1] != '#')
		return -1;
	bool hex = number[2] == 'x';
	if (!is_name_byte(number[hex ? 3 : 2]))
		return -1;
	long v = strtol(number + (hex ? 3 : 2), &rest, hex ? 16 : 10);
	if (*rest != ';' || v < 9 || v > 126)
		return -1;
	x->p += rest - number + 1;
	return (int)v;
}

static enum xml_event
get_text(struct xml *x)
{
	size_t n = 0;

	while (x->p < x->end && *x->p != '<') {
		int c = *x->p == '&' ? get_entity(x) : (unsigned char)*x->p++;
		if (c <= 0 || n == XML_TEXT_MAX)
			return XML_BAD;
		x->text[n++] = (char)c;
	}
	x->text[n] = '\0';
	if (x->depth > 0)
		return XML_TEXT;
	return strspn(x->text, " \t\r\n") == n ? XML_TEXT : XML_BAD;
}

enum xml_event
xml_next(struct xml *x)
{
	if (x->pending_close) {
		x->pending_close = false;
		x->depth--;
	}
	if (x->empty) {
		x->empty = false;
		x->pending_close = true;
		return XML_CLOSE;
	}
	while (begins(x, "<?") || begins(x, "<!--"))
		if (!skip_past(x, begins(x, "<?") ? "?>" : "-->"))
			return XML_BAD;
	if (x->p == x->end)
		return x->depth == 0 && x->seen ? XML_END : XML_BAD;
	if (*x->p != '<')
		return get_text(x);
	return begins(x, "</") ? close_element(x) : open_element(x);
}
