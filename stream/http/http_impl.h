/* http_impl.h: a file on a web server: what http.c, which knows the file, and http_call.c,
 * which requests ranges of the file, share. */
#ifndef STREAM_HTTP_HTTP_IMPL_H
#define STREAM_HTTP_HTTP_IMPL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "common/net/curl_lib.h"
#include "stream/http/answer.h"
#include "stream/http/http.h"

enum {
	HTTP_PARALLEL = 8, /* requests of one thread that run at the same time */
	/* Threads that request at the same time; others wait.  A streaming disk has 16 for its
	 * clients, and 8 for what an order of reads names. */
	HTTP_WORKERS = 24,
};

/* The connections of one thread while it requests; they are kept for the next thread. */
struct http_worker {
	struct http_worker *next;
	CURLM *multi;
	CURL *easy[HTTP_PARALLEL];
};

struct http {
	char *url, *name;
	double seconds; /* for all tries of one range */
	/* The file as it was when it was opened. */
	bool known;
	struct http_answer first;
	uint64_t bytes;
	atomic_bool cancelled;
	atomic_bool changed; /* for good: nothing would tell that it is the same file again */
	pthread_mutex_t lock; /* guards the workers */
	pthread_cond_t idle_again;
	struct http_worker *idle;
	unsigned workers;
};

/* One range that is fetched. */
struct http_call {
	struct http *h;
	struct http_range range;
	CURL *easy; /* the running request; NULL: none */
	struct http_answer answer;
	size_t got, head_bytes;
	bool too_long; /* the answer had more than was asked for, or a head without end */
	CURLcode code;
	bool done;
};

/* Try all calls that are not done, HTTP_PARALLEL at a time, until all are done, until another
 * try does not help, or until h->seconds are over.  Returns 0; *failed is NULL, or a call that is
 * not done, with the answer to its last try, from which http.c makes the error.  *tries counts
 * the tries.  -1: ERR_NOMEM. */
int http_perform(struct http *, struct http_call *, size_t n, struct http_call **failed,
    unsigned *tries, struct err *);
void http_workers_free(struct http *);

/* The result of the last try of a call. */
enum http_verdict {
	HTTP_GOOD,  /* all bytes are here */
	HTTP_AGAIN, /* it may pass */
	HTTP_BAD,   /* it will not */
};
enum http_verdict http_judge(const struct http_call *);

#endif /* STREAM_HTTP_HTTP_IMPL_H */
