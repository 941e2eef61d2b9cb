/* web_answer.h: what the head of an HTTP answer says of the bytes that follow it (RFC
 * 9110). */
#ifndef COMMON_NET_WEB_WEB_ANSWER_H
#define COMMON_NET_WEB_WEB_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WEB_ETAG_MAX = 200, WEB_DATE_MAX = 60 };

struct web_answer {
	unsigned status; /* 0: none yet */
	bool has_range;       /* Content-Range says: bytes [first, last] of `total` */
	bool has_total;       /* the head states the length of the whole file */
	uint64_t first, last; /* first <= last */
	uint64_t total;
	bool coded;                     /* the bytes are compressed */
	char etag[WEB_ETAG_MAX + 1];    /* with its quotes; "": none, or too long */
	char modified[WEB_DATE_MAX + 1]; /* Last-Modified, as it came; or "" */
	char date[WEB_DATE_MAX + 1];    /* of the server, as it came; or "" */
};

/* Parse the next line of the head, with or without its line end.  A status line starts
 * over, because another answer may follow: true then.  Invalid lines are ignored. */
bool web_answer_line(struct web_answer *, const char *line, size_t n);
/* What a later request can name to get the same file: a strong ETag, or else
 * Last-Modified; "": the head has neither.  It is valid as long as the answer. */
const char *web_answer_validator(const struct web_answer *);

#endif /* COMMON_NET_WEB_WEB_ANSWER_H */
