/* xml.h: XML as object stores answer with, from bytes that are not believed.  expat reads
 * it; this part gives out its elements one after the other, and refuses what no object
 * store has a reason to send: a document type (so there are no entities of the document's
 * own, and none can be expanded), elements within elements deeper than XML_DEPTH_MAX, and
 * names and texts that are longer than the limits.  Attributes, comments and processing
 * instructions are passed over.  The text is UTF-8, whatever the document says of itself. */
#ifndef EMUSTORE_S3_XML_H
#define EMUSTORE_S3_XML_H

#include <stdbool.h>
#include <stddef.h>

/* The limits do not count the '\0' behind a name or a text. */
enum { XML_NAME_MAX = 47, XML_DEPTH_MAX = 8, XML_TEXT_MAX = 2047 };

enum xml_event { XML_OPEN, XML_CLOSE };

/* Where in the document the event is. */
struct xml {
	unsigned depth;                              /* open elements, this one included */
	char names[XML_DEPTH_MAX][XML_NAME_MAX + 1]; /* of them, the outermost first */
	char text[XML_TEXT_MAX + 1]; /* at XML_CLOSE: what stands before it, behind any tag */
};

/* Called for each element when it opens and when it closes.  The struct belongs to
 * xml_read(), and is valid during the call.  Returns whether to go on. */
typedef bool xml_fn(void *arg, enum xml_event, const struct xml *);

enum xml_outcome {
	XML_WHOLE,     /* one element with all that is in it, and nothing behind it */
	XML_STOPPED,   /* the function said so */
	XML_MALFORMED, /* no XML, cut off, or refused (above) */
	XML_NO_MEMORY
};

/* Reads a whole document of `len` bytes.  The function may have been called before it turns
 * out that the document is malformed. */
enum xml_outcome xml_read(const void *bytes, size_t len, xml_fn *, void *arg);

/* The name of the innermost open element. */
const char *xml_name(const struct xml *);

#endif /* EMUSTORE_S3_XML_H */
