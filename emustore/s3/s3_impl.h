/* s3_impl.h: what the requests for objects (s3.c) and how each is made (s3_call.c)
 * share. */
#ifndef EMUSTORE_S3_S3_IMPL_H
#define EMUSTORE_S3_S3_IMPL_H

#include <curl/curl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "emustore/s3/s3.h"
#include "emustore/s3/s3_config.h"

enum { S3_ERROR_BYTES_MAX = 16 << 10 }; /* of an answer that is not a success */

struct s3 {
	struct s3_config c;  /* its keys are taken by s3_keys(), and may become others */
	int64_t asked_at;    /* when newer keys were asked for in vain */
	char *title, *address, *bucket, *prefix; /* prefix: "" or with a slash */
	char *signing;
	double seconds;
	pthread_mutex_t lock;
	CURL **idle; /* connections that wait to be used again */
	size_t nidle, cap;
};

/* One request, and what came of the last try of it. */
struct s3_call {
	const char *method, *key, *query; /* query NULL: none */
	const void *body;
	size_t body_bytes, sent;
	bool ranged;
	uint64_t from;
	size_t bytes; /* of the range; else most that the answer may have */
	/* The answer. */
	long status;
	struct buf got;
	bool too_long, has_range;
	uint64_t first, last;
	size_t header_bytes;
	uint64_t moved; /* bytes, either way, of this try */
	double moved_at; /* when the last of them did; before: when it began */
	uint64_t date;
};

/* The settings, with keys that are good for a while; the caller wipes them. */
void s3_keys(struct s3 *, struct s3_config *out);
/* Tried until it succeeds, is refused, or the time is over. */
int s3_perform(struct s3 *, struct s3_call *, struct err *);
/* Behind the string that is in out[cap]: all but letters, digits and "-_.~" as %XX; of
 * a path the slashes stay. */
void s3_escape(char *out, size_t cap, const char *, bool path);
/* Is it of nothing but letters, digits and those others? */
bool s3_only_of(const char *, const char *others);

#endif /* EMUSTORE_S3_S3_IMPL_H */
