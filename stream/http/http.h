/* http.h: a file on a web server, read by ranges (RFC 9110, section 14) over connections that
 * are kept.
 *
 * Answers are not believed: a range must be the one that was asked for, as long as it says, of
 * the file that was there at the beginning: its length, and its ETag or date, stay as they
 * were.  What may pass by itself (a connection that breaks or says nothing, 5xx, 429) is tried
 * again, with growing pauses, for a minute.
 */
#ifndef STREAM_HTTP_HTTP_H
#define STREAM_HTTP_HTTP_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/image/read/source.h"

struct http;

/* Asks for its first byte, so that its length is known.  ERR_IO; ERR_UNSUPPORTED: the server
 * does not know ranges; ERR_FORMAT: what it says makes no sense. */
int http_open(struct http **, const char *url, struct err *);
void http_close(struct http *);
/* The URL without passwords and what follows a "?", for messages. */
const char *http_name(const struct http *);
uint64_t http_bytes(const struct http *);

struct http_range {
	uint64_t at; /* of the file, and all of it there */
	size_t bytes; /* not 0 */
	uint8_t *to;
};

/* All of these, several at the same time.  From any thread.  ERR_IO: not now; ERR_FORMAT: the
 * file has changed, which it stays, or the server answers something else; ERR_CANCELLED. */
int http_fetch(struct http *, const struct http_range *, size_t n, struct err *);
/* All calls of http_fetch(), now and later, return ERR_CANCELLED.  May be called in
 * any thread. */
void http_cancel(struct http *);

/* The file as a source.  Errors as http_open(). */
int source_of_http(struct source *, const char *url, struct err *);

#endif /* STREAM_HTTP_HTTP_H */
