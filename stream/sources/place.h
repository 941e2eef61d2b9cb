/* place.h: the place of an image, as users write it:
 *
 *	PATH			a file
 *	store:NAME[:VERSION]	in a store, which is named elsewhere
 *	http://..., https://...	on a web server
 *	nbd://..., nbds://..., nbd+unix://..., nbds+unix://...
 *				what an NBD server exports: an image, or a disk
 *	frisbee://ADDRESS:PORT	what a running session sends (session.h)
 *
 * Any other text that looks like a URL is refused; a file of such a name is ./NAME.
 */
#ifndef STREAM_SOURCES_PLACE_H
#define STREAM_SOURCES_PLACE_H

#include "common/base/err.h"

enum place_kind { PLACE_FILE, PLACE_STORE, PLACE_HTTP, PLACE_NBD, PLACE_SESSION };

struct place {
	enum place_kind kind;
	const char *what; /* the path, the name in the store, the URL: points into the text */
};

/* Parse `text`, which must live as long as *p.  ERR_USAGE: it names no place. */
int place_parse(struct place *, const char *text, struct err *);

#endif /* STREAM_SOURCES_PLACE_H */
