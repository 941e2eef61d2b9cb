/* answer.h: what the head of an HTTP answer says of the bytes behind it (RFC 9110). */
#ifndef STREAM_HTTP_ANSWER_H
#define STREAM_HTTP_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HTTP_ETAG_MAX = 200, HTTP_DATE_MAX = 60 };

struct http_answer {
	unsigned status;
	bool has_range;       /* Content-Range says: bytes [first, last] of `total` */
	bool has_total;       /* it says how long the whole is */
	uint64_t first, last; /* first <= last */
	uint64_t total;
	bool coded;                      /* the bytes are compressed */
	char etag[HTTP_ETAG_MAX + 1];    /* with its quotes; "": none, or too long */
	char modified[HTTP_DATE_MAX + 1]; /* Last-Modified, as it came; or "" */
};

/* Parse the next line of the head, with or without its line end.  A status line
 * starts over, because another answer may follow.  Invalid lines are ignored. */
void http_answer_line(struct http_answer *, const char *line, size_t n);
/* A strong ETag, or the date: what a later request can ask to be the same; "": nothing. */
const char *http_answer_validator(const struct http_answer *);

#endif /* STREAM_HTTP_ANSWER_H */
