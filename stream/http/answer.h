/* answer.h: what the head of an HTTP answer says of the bytes that follow it (RFC 9110). */
#ifndef STREAM_HTTP_ANSWER_H
#define STREAM_HTTP_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HTTP_ETAG_MAX = 200, HTTP_DATE_MAX = 60 };

struct http_answer {
	unsigned status; /* 0: none yet */
	bool has_range;       /* Content-Range says: bytes [first, last] of `total` */
	bool has_total;       /* the head states the length of the whole file */
	uint64_t first, last; /* first <= last */
	uint64_t total;
	bool coded;                      /* the bytes are compressed */
	char etag[HTTP_ETAG_MAX + 1];    /* with its quotes; "": none, or too long */
	char modified[HTTP_DATE_MAX + 1]; /* Last-Modified, as it came; or "" */
};

/* Parse the next line of the head, with or without its line end.  A status line
 * starts over, because another answer may follow.  Invalid lines are ignored. */
void http_answer_line(struct http_answer *, const char *line, size_t n);
/* What a later request can name to get the same file: a strong ETag, or else Last-Modified;
 * "": the head has neither.  It is valid as long as the answer. */
const char *http_answer_validator(const struct http_answer *);

#endif /* STREAM_HTTP_ANSWER_H */
