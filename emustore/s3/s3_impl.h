/* s3_impl.h: what s3.c (the requests for objects) and s3_call.c (how each request is
 * made) share. */
#ifndef EMUSTORE_S3_S3_IMPL_H
#define EMUSTORE_S3_S3_IMPL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/net/web/web_client.h"
#include "emustore/s3/s3.h"
#include "emustore/s3/s3_config.h"

struct s3 {
	struct s3_config c;  /* its keys are read by s3_keys(), which may replace them */
	int64_t asked_at;    /* when newer keys were asked for last, in seconds since 1970 */
	char *title, *address, *bucket, *prefix; /* prefix: "", or with a slash at its end */
	/* what curl signs requests with, from the region */
	char *signing;
	/* how many seconds without a moving byte a request may take in all its tries */
	double seconds;
	struct web_client *web;
	pthread_mutex_t lock; /* guards the keys, and asked_at */
};

/* Copy the settings, with keys that are valid for a while, to *out; the caller wipes
 * them. */
void s3_keys(struct s3 *, struct s3_config *out);
/* Prepare a try of a request: sign it with the keys of a struct s3. */
int s3_dress(void *s3, struct web_call *, CURL *);
/* Make a request, whose key, or else NULL, and whose query, or NULL, are given.  Errors
 * as web_perform(). */
int s3_perform(struct s3 *, struct web_call *, const char *key, const char *query,
    struct err *);
/* Append a text to the string in out[cap], in which all but letters, digits and "-_.~"
 * become %XX; in a path, slashes stay. */
void s3_escape(char *out, size_t cap, const char *, bool path);
/* Does the text consist of nothing but letters, digits and the characters of `others`? */
bool s3_only_of(const char *, const char *others);

#endif /* EMUSTORE_S3_S3_IMPL_H */
