/* xml.h: XML as object stores answer with, from bytes that are not believed: elements
 * and text, one behind the other, in memory of a fixed size.  Document types, with all
 * that entities could do, are refused; attributes are passed over. */
#ifndef EMUSTORE_S3_XML_H
#define EMUSTORE_S3_XML_H

#include <stdbool.h>
#include <stddef.h>

enum { XML_NAME_MAX = 47, XML_DEPTH_MAX = 8, XML_TEXT_MAX = 2047 };

enum xml_event { XML_BAD, XML_END, XML_OPEN, XML_CLOSE, XML_TEXT };

struct xml {
	const char *p, *end;
	unsigned depth;
	bool pending_close, empty, seen;
	char names[XML_DEPTH_MAX][XML_NAME_MAX + 1]; /* that are open */
	char text[XML_TEXT_MAX + 1];                 /* of XML_TEXT */
};

void xml_from(struct xml *, const void *bytes, size_t len);
/* XML_OPEN: the element is the innermost one now; XML_CLOSE: it still is. */
enum xml_event xml_next(struct xml *);
/* The innermost element. */
const char *xml_name(const struct xml *);

#endif /* EMUSTORE_S3_XML_H */
