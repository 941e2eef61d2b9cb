/* s3_impl.h: what s3.c (the requests for objects) and s3_call.c (how each request is made)
 * share. */
#ifndef EMUSTORE_S3_S3_IMPL_H
#define EMUSTORE_S3_S3_IMPL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/net/curl_lib.h"
#include "emustore/s3/s3.h"
#include "emustore/s3/s3_config.h"

enum { S3_ERROR_BYTES_MAX = 16 << 10 }; /* limit of an answer that is not a success */

struct s3 {
	struct s3_config c;  /* its keys are read by s3_keys(), which may replace them */
	int64_t asked_at;    /* when newer keys were asked for last, in seconds since 1970 */
	char *title, *address, *bucket, *prefix; /* prefix: "", or with a slash at its end */
	/* what curl signs requests with, from the region */
	char *signing;
	/* how many seconds without a moving byte a request may take in all its tries */
	double seconds;
	pthread_mutex_t lock;
	CURL **idle; /* connections that can be used again */
	size_t nidle, cap;
};

/* One request, and the result of its last try. */
struct s3_call {
	const char *method, *key, *query; /* query NULL: there is none */
	const void *body;
	size_t body_bytes, sent;
	/* Only a range is wanted, which begins at byte `from`. */
	bool ranged;
	uint64_t from;
	/* length of the range; without a range: the most that the answer may have */
	size_t bytes;
	/* The answer.  status: of HTTP; first, last: the range that it says; date: the
	 * server's time, in seconds since 1970, or 0. */
	long status;
	struct buf got;
	bool too_long, has_range;
	uint64_t first, last;
	size_t header_bytes;
	uint64_t moved; /* bytes of this try, sent and received */
	/* by clock_boot_us(), when the last byte moved, or else when the try began */
	uint64_t moved_at_us;
	uint64_t date;
};

/* Copy the settings, with keys that are valid for a while, to *out; the caller wipes them. */
void s3_keys(struct s3 *, struct s3_config *out);
/* Make a request, and try it again until it succeeds, is refused, was tried 30 times, or
 * no byte has moved for s->seconds in all tries together.  0: the server answered with
 * success (2xx).  ERR_IO, ERR_CANCELLED, and others. */
int s3_perform(struct s3 *, struct s3_call *, struct err *);
/* Append a text to the string in out[cap], in which all but letters, digits and "-_.~"
 * become %XX; in a path, slashes stay. */
void s3_escape(char *out, size_t cap, const char *, bool path);
/* Does the text consist of nothing but letters, digits and the characters of `others`? */
bool s3_only_of(const char *, const char *others);

#endif /* EMUSTORE_S3_S3_IMPL_H */
