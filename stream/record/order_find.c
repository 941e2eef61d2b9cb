/* order_find.c: reads an order from a file or a web server.  The plugin calls this in
 * nbdkit's first thread. */
#include "stream/record/order_find.h"

#include <stdio.h>
#include <string.h>

#include "common/net/web/http.h"
#include "stream/sources/place.h"

int
order_at(struct order *o, const char *place, struct err *e)
{
	struct disk *d;
	struct place p;

	if (place_parse(&p, place, e) != 0)
		return -1;
	if (p.kind == PLACE_FILE)
		return order_read(o, p.what, e);
	if (p.kind == PLACE_HTTP)
		return http_open(&d, p.what, e) == 0 ? order_of_disk(o, d, e) : -1;
	return err_set(
	    e, ERR_USAGE, "%s: an order of reads is a file, or on a web server", place);
}

int
order_beside(struct order *o, const char *image, struct err *e)
{
	struct place p;
	char *place;

	if (place_parse(&p, image, e) != 0)
		return -1;
	/* What is behind a "?" is no part of the file's name. */
	if (p.kind != PLACE_FILE &&
	    (p.kind != PLACE_HTTP || strchr(image, '?') != NULL))
		return err_set(e, ERR_ABSENT, "%s: nothing can be beside it", image);
	if (asprintf(&place, "%s.order", image) < 0)
		return err_nomem(e, image);
	int rc = order_at(o, place, e);
	free(place);
	return rc;
}
