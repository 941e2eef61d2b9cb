/* place.h: where an image is, as people write it:
 *
 *	PATH			a file
 *	store:NAME[:VERSION]	in a store, which is named elsewhere
 *	http://..., https://...	on a web server
 *	nbd://..., nbds://..., nbd+unix://..., nbds+unix://...
 *				what an NBD server exports: an image, or a disk
 *	frisbee://ADDRESS:PORT	what a running session sends
 *
 * Whatever else looks like a URL is refused: a file of such a name is ./NAME.
 */
#ifndef STREAM_SOURCES_PLACE_H
#define STREAM_SOURCES_PLACE_H

#include "common/base/err.h"

enum place_kind { PLACE_FILE, PLACE_STORE, PLACE_HTTP, PLACE_NBD, PLACE_SESSION };

struct place {
	enum place_kind kind;
	const char *what; /* the path, the name in the store, the URL: a part of the text */
};

/* ERR_USAGE. */
int place_parse(struct place *, const char *text, struct err *);

#endif /* STREAM_SOURCES_PLACE_H */
