/* http.h: a file on a web server, read by ranges (RFC 9110, section 14) over connections
 * that are kept.
 *
 * Requests are made, limited and tried again by common/net/web: without a byte that
 * moves, for a minute in all tries, or for ten seconds when the file is opened.  Each
 * answer must be of the file that was opened: the file's length, and its ETag or date,
 * must stay as they were. */
#ifndef STREAM_HTTP_HTTP_H
#define STREAM_HTTP_HTTP_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/image/read/source.h"

struct http;

/* Open the file: its first byte is requested, to learn the length.  ERR_IO; ERR_ABSENT:
 * the server has no such file; ERR_UNSUPPORTED: the server does not support ranges, or
 * does not say how long the file is; ERR_FORMAT: the answer makes no sense;
 * ERR_CANCELLED, ERR_NOMEM. */
int http_open(struct http **, const char *url, struct err *);
/* Close the file, when no thread uses it any more.  NULL is allowed. */
void http_close(struct http *);
/* The URL without a password and without the query behind "?", for messages. */
const char *http_name(const struct http *);
/* The length of the file in bytes. */
uint64_t http_bytes(const struct http *);

struct http_range {
	uint64_t at; /* first byte; the whole range lies in the file */
	size_t bytes; /* not 0 */
	uint8_t *to; /* where the bytes go */
};

/* Fetch n ranges, several at the same time.  May be called in any thread.  ERR_IO: the
 * server cannot be reached or refuses; ERR_FORMAT: the file has changed, or the answer is
 * something else; ERR_CANCELLED, ERR_NOMEM.  Later calls succeed when the server has the
 * file again that was opened, if it gives files an ETag or a date; if not, they fail. */
int http_fetch(struct http *, const struct http_range *, size_t n, struct err *);
/* Make all calls of http_fetch(), now and later, return ERR_CANCELLED.  May be called in
 * any thread. */
void http_cancel(struct http *);

/* Open the file as a source.  Errors as http_open(); ERR_UNSUPPORTED: it is too long. */
int source_of_http(struct source *, const char *url, struct err *);

#endif /* STREAM_HTTP_HTTP_H */
