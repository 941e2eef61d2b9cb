/* xml.c: elements and their text out of an object store's answer, by expat.  Called by
 * s3_list.c, in any thread: nothing is kept from one document to the next. */
#include "emustore/s3/xml.h"

#include <expat.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct reading {
	XML_Parser parser;
	struct xml at;
	size_t text_bytes;
	enum xml_outcome outcome; /* XML_WHOLE: nobody has stopped it */
	xml_fn *fn;
	void *arg;
};

const char *
xml_name(const struct xml *x)
{
	return x->depth > 0 ? x->names[x->depth - 1] : "";
}

static void
stop(struct reading *r, enum xml_outcome outcome)
{
	r->outcome = outcome;
	XML_StopParser(r->parser, XML_FALSE);
}

static void
tell(struct reading *r, enum xml_event event)
{
	if (!r->fn(r->arg, event, &r->at))
		stop(r, XML_STOPPED);
	r->text_bytes = 0;
}

/* expat may call a handler once or twice more after it was stopped, so each one looks
 * whether it was. */

static void
on_open(void *arg, const XML_Char *name, const XML_Char **attributes)
{
	struct reading *r = arg;
	size_t n = strlen(name);

	(void)attributes;
	if (r->outcome != XML_WHOLE)
		return;
	if (r->at.depth == XML_DEPTH_MAX || n > XML_NAME_MAX) {
		stop(r, XML_MALFORMED);
		return;
	}
	memcpy(r->at.names[r->at.depth++], name, n + 1);
	r->at.text[0] = '\0';
	tell(r, XML_OPEN);
}

static void
on_close(void *arg, const XML_Char *name)
{
	struct reading *r = arg;

	(void)name; /* expat has seen that it is the innermost one's */
	if (r->outcome != XML_WHOLE)
		return;
	r->at.text[r->text_bytes] = '\0';
	tell(r, XML_CLOSE);
	r->at.depth--;
}

static void
on_text(void *arg, const XML_Char *text, int bytes)
{
	struct reading *r = arg;
	size_t n = (size_t)bytes;

	if (r->outcome != XML_WHOLE)
		return;
	if (n > XML_TEXT_MAX - r->text_bytes) {
		stop(r, XML_MALFORMED);
		return;
	}
	memcpy(r->at.text + r->text_bytes, text, n);
	r->text_bytes += n;
}

static void
on_document_type(void *arg, const XML_Char *name, const XML_Char *system,
    const XML_Char *public, int has_internal_subset)
{
	(void)name, (void)system, (void)public, (void)has_internal_subset;
	stop(arg, XML_MALFORMED);
}

static enum xml_outcome
parse(struct reading *r, const void *bytes, size_t len)
{
	XML_SetUserData(r->parser, r);
	XML_SetElementHandler(r->parser, on_open, on_close);
	XML_SetCharacterDataHandler(r->parser, on_text);
	XML_SetStartDoctypeDeclHandler(r->parser, on_document_type);
	if (XML_Parse(r->parser, bytes, (int)len, 1) == XML_STATUS_OK)
		return XML_WHOLE;
	if (r->outcome != XML_WHOLE)
		return r->outcome;
	return XML_GetErrorCode(r->parser) == XML_ERROR_NO_MEMORY ? XML_NO_MEMORY
								  : XML_MALFORMED;
}

enum xml_outcome
xml_read(const void *bytes, size_t len, xml_fn *fn, void *arg)
{
	struct reading *r = calloc(1, sizeof *r);
	enum xml_outcome outcome = XML_NO_MEMORY;

	if (r == NULL)
		return XML_NO_MEMORY;
	r->fn = fn;
	r->arg = arg;
	r->parser = XML_ParserCreate("UTF-8");
	if (r->parser != NULL)
		outcome = len <= INT_MAX ? parse(r, bytes, len) : XML_MALFORMED;
	XML_ParserFree(r->parser);
	free(r);
	return outcome;
}
