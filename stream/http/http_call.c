/* http_call.c: requests ranges of one file, several at a time, and tries again as long as that
 * may help.  http.c calls this, in any thread. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/timed.h"
#include "stream/http/http_impl.h"

enum {
	HEAD_BYTES_MAX = 64 << 10, /* of all header lines of an answer */
	CONNECT_SECONDS = 10,
	LEAST_RATE = 1000, /* bytes a second */
	STALL_SECONDS = 15, /* time below LEAST_RATE that ends a try */
	REDIRECTS_MAX = 5,
	LOOK_MS = 100, /* between two looks whether the work is still wanted */
	PAUSE_MS = 100, /* after the first try; each further pause is twice as long */
	PAUSE_MS_MAX = 5000,
};

/* Workers. */

static void
free_worker(struct http_worker *w)
{
	for (size_t i = 0; i < HTTP_PARALLEL; i++)
		curl_easy_cleanup(w->easy[i]);
	curl_multi_cleanup(w->multi);
	free(w);
}

static struct http_worker *
new_worker(void)
{
	struct http_worker *w = calloc(1, sizeof *w);

	if (w == NULL)
		return NULL;
	w->multi = curl_multi_init();
	bool good = w->multi != NULL;
	for (size_t i = 0; i < HTTP_PARALLEL && good; i++)
		good = (w->easy[i] = curl_easy_init()) != NULL;
	if (good)
		return w;
	free_worker(w);
	return NULL;
}

static struct http_worker *
take_worker(struct http *h)
{
	pthread_mutex_lock(&h->lock);
	while (h->idle == NULL && h->workers == HTTP_WORKERS)
		pthread_cond_wait(&h->idle_again, &h->lock);
	struct http_worker *w = h->idle;
	if (w != NULL)
		h->idle = w->next;
	else if ((w = new_worker()) != NULL)
		h->workers++;
	pthread_mutex_unlock(&h->lock);
	return w;
}

static void
give_worker(struct http *h, struct http_worker *w)
{
	pthread_mutex_lock(&h->lock);
	w->next = h->idle;
	h->idle = w;
	pthread_cond_signal(&h->idle_again);
	pthread_mutex_unlock(&h->lock);
}

void
http_workers_free(struct http *h)
{
	struct http_worker *w;

	while ((w = h->idle) != NULL) {
		h->idle = w->next;
		free_worker(w);
	}
}

/* One request. */

static size_t
on_head(char *p, size_t size, size_t n, void *arg)
{
	struct http_call *c = arg;

	c->head_bytes += size * n;
	if (c->head_bytes > HEAD_BYTES_MAX) {
		c->too_long = true;
		return 0;
	}
	http_answer_line(&c->answer, p, size * n);
	return size * n;
}

/* Take a part of the body.  Anything but the range that was asked for ends the transfer. */
static size_t
on_body(char *p, size_t size, size_t n, void *arg)
{
	struct http_call *c = arg;
	size_t bytes = size * n;

	if (c->answer.status != 206)
		return c->answer.status / 100 == 3 ? bytes : 0;
	if (bytes > c->range.bytes - c->got) {
		c->too_long = true;
		return 0;
	}
	memcpy(c->range.to + c->got, p, bytes);
	c->got += bytes;
	return bytes;
}

static bool
is_wanted(const struct http *h)
{
	return !h->cancelled && cancel_signal() == 0;
}

/* How long one try may take.  A range that arrives, if slowly, is not broken off, since the next try
 * would begin with its first byte again; at LEAST_RATE, each byte takes a millisecond. */
static void
set_times(CURL *easy, const struct http *h, size_t range_bytes)
{
	_Static_assert(LEAST_RATE == 1000, "a byte takes a millisecond");
	long most = (long)h->seconds + 1; /* without an answer */
	long connect = most < CONNECT_SECONDS ? most : CONNECT_SECONDS;
	long stall = most < STALL_SECONDS ? most : STALL_SECONDS;

	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, connect);
	curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, (long)LEAST_RATE);
	curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, stall);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS,
	    (long)(h->seconds * 1000) + 1 + (long)range_bytes);
}

static void
set_common(CURL *easy, const struct http *h)
{
	bool secure = strncasecmp(h->url, "https:", 6) == 0;

	curl_easy_setopt(easy, CURLOPT_URL, h->url);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L);
	curl_easy_setopt(easy, CURLOPT_MAXREDIRS, (long)REDIRECTS_MAX);
	/* A redirect must not lead from https to http. */
	curl_easy_setopt(
	    easy, CURLOPT_REDIR_PROTOCOLS_STR, secure ? "https" : "http,https");
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, "ndz-stream/" SUITE_VERSION);
}

/* The header If-Range: if the file has changed, the server sends the whole new file, and the
 * change is noticed. */
static struct curl_slist *
if_range(const struct http *h)
{
	char line[HTTP_ETAG_MAX + 40];
	const char *v = http_answer_validator(&h->first);

	if (!h->known || v[0] == '\0')
		return NULL;
	snprintf(line, sizeof line, "If-Range: %s", v);
	return curl_slist_append(NULL, line);
}

static void
start(struct http_call *c, CURL *easy, CURLM *multi, struct curl_slist *headers)
{
	char range[64];

	c->easy = easy;
	c->answer = (struct http_answer){ .status = 0 };
	c->got = c->head_bytes = 0;
	c->too_long = false;
	c->code = CURLE_FAILED_INIT;
	snprintf(range, sizeof range, "%" PRIu64 "-%" PRIu64, c->range.at,
	    c->range.at + c->range.bytes - 1);
	curl_easy_reset(easy); /* keeps the connection open */
	set_common(easy, c->h);
	set_times(easy, c->h, c->range.bytes);
	curl_easy_setopt(easy, CURLOPT_RANGE, range);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_head);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, c);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, c);
	curl_easy_setopt(easy, CURLOPT_PRIVATE, c);
	curl_multi_add_handle(multi, easy);
}

/* Several at a time. */

struct batch {
	struct http_worker *w;
	struct curl_slist *headers;
	struct http_call *calls;
	size_t n, next; /* number of calls; the next call to start */
	CURL *free[HTTP_PARALLEL];
	size_t nfree;
};

static void
start_more(struct batch *b)
{
	for (; b->next < b->n && b->nfree > 0; b->next++)
		if (!b->calls[b->next].done)
			start(&b->calls[b->next], b->free[--b->nfree], b->w->multi,
			    b->headers);
}

static void
end_call(struct batch *b, struct http_call *c, CURLcode code)
{
	c->code = code;
	curl_multi_remove_handle(b->w->multi, c->easy);
	b->free[b->nfree++] = c->easy;
	c->easy = NULL;
	c->done = http_judge(c) == HTTP_GOOD;
}

static void
end_some(struct batch *b)
{
	struct http_call *c;
	CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(b->w->multi, &left)) != NULL)
		if (m->msg == CURLMSG_DONE) {
			CURLcode code = m->data.result;
			curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &c);
			end_call(b, c, code);
		}
}

/* Try each call that is not done once. */
static void
try_all(struct http *h, struct batch *b)
{
	int running = 0;

	b->next = 0;
	start_more(b);
	while (b->nfree < HTTP_PARALLEL && is_wanted(h)) {
		if (curl_multi_perform(b->w->multi, &running) != CURLM_OK)
			break;
		end_some(b);
		start_more(b);
		if (b->nfree < HTTP_PARALLEL)
			curl_multi_poll(b->w->multi, NULL, 0, LOOK_MS, NULL);
	}
	for (size_t i = 0; i < b->n; i++)
		if (b->calls[i].easy != NULL)
			end_call(b, &b->calls[i], CURLE_ABORTED_BY_CALLBACK);
}

/* Sleep between half of `ms` and `ms`, at random, so that clients that failed together do not
 * return together. */
static void
pause_ms(struct http *h, unsigned ms)
{
	uint64_t end = clock_us() + (ms / 2 + clock_us() % (ms / 2 + 1)) * 1000;

	while (clock_us() < end && is_wanted(h))
		timed_sleep(LOOK_MS * 1000 / 4);
}

/* The first call that is not done; a call that cannot succeed goes before others. */
static struct http_call *
find_failed(struct http_call *calls, size_t n)
{
	struct http_call *failed = NULL;

	for (size_t i = 0; i < n; i++)
		if (!calls[i].done &&
		    (failed == NULL || http_judge(&calls[i]) == HTTP_BAD))
			failed = &calls[i];
	return failed;
}

int
http_perform(struct http *h, struct http_call *calls, size_t n, struct http_call **failed,
    unsigned *tries, struct err *e)
{
	uint64_t end = clock_us() + (uint64_t)(h->seconds * 1e6);
	struct batch b = { .w = take_worker(h), .calls = calls, .n = n };
	unsigned ms = PAUSE_MS;

	if (b.w == NULL)
		return err_nomem(e, h->name);
	memcpy(b.free, b.w->easy, sizeof b.free);
	b.nfree = HTTP_PARALLEL;
	b.headers = if_range(h);
	for (*tries = 1;; (*tries)++) {
		try_all(h, &b);
		*failed = find_failed(calls, n);
		if (*failed == NULL || http_judge(*failed) == HTTP_BAD ||
		    !is_wanted(h) || clock_us() + ms * 1000 > end)
			break;
		pause_ms(h, ms);
		ms = 2 * ms < PAUSE_MS_MAX ? 2 * ms : PAUSE_MS_MAX;
	}
	curl_slist_free_all(b.headers);
	give_worker(h, b.w);
	return 0;
}
