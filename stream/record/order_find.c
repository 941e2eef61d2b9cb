/* order_find.c: reads an order from a file or a web server.  The plugin calls this in
 * nbdkit's first thread. */
#include "stream/record/order_find.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "stream/http/http.h"
#include "stream/sources/place.h"

/* Read the whole file of a web server. */
static int
fetch(struct http *h, struct buf *b, struct err *e)
{
	uint64_t bytes = http_bytes(h);

	if (bytes == 0 || bytes > ORDER_BYTES_MAX)
		return err_set(e, ERR_FORMAT,
		    "%s: has %" PRIu64 " bytes, as no order of reads has", http_name(h),
		    bytes);
	struct http_range all = { .bytes = (size_t)bytes,
		.to = buf_room(b, (size_t)bytes) };
	return all.to != NULL ? http_fetch(h, &all, 1, e) : err_nomem(e, http_name(h));
}

static int
order_of_http(struct order *o, const char *url, struct err *e)
{
	struct buf b = { 0 };
	struct http *h;

	if (http_open(&h, url, e) != 0)
		return -1;
	int rc = fetch(h, &b, e);
	if (rc == 0)
		rc = order_get(o, b.base, b.len, http_name(h), e);
	http_close(h);
	buf_free(&b);
	return rc;
}

int
order_at(struct order *o, const char *place, struct err *e)
{
	struct place p;

	if (place_parse(&p, place, e) != 0)
		return -1;
	if (p.kind == PLACE_FILE)
		return order_read(o, p.what, e);
	if (p.kind == PLACE_HTTP)
		return order_of_http(o, p.what, e);
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
