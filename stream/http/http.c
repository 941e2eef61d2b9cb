/* http.c: a file on a web server: keeps what was known of the file when it was opened, and checks
 * whether each answer is about that file.  http_source.c calls this, in any thread. */
#include "stream/http/http.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "stream/http/http_impl.h"

enum {
	TRY_SECONDS = 60,  /* for all tries of one request; STREAM_HTTP_SECONDS replaces it */
	OPEN_SECONDS = 10, /* for all tries of the first request, at most */
};

/* An answer to a request with If-Range need not repeat the date when it has the ETag (RFC 9110,
 * 15.3.7). */
static bool
has_same_validators(const struct http *h, const struct http_answer *a)
{
	bool dateless = a->modified[0] == '\0' && a->etag[0] != '\0';

	return strcmp(a->etag, h->first.etag) == 0 &&
	       (dateless || strcmp(a->modified, h->first.modified) == 0);
}

/* Whether the answer is about the file that was opened. */
static bool
is_same_file(const struct http *h, const struct http_answer *a)
{
	if (!h->known)
		return true;
	return a->has_total && a->total == h->bytes && has_same_validators(h, a);
}

static bool
is_asked(const struct http_call *c)
{
	const struct http_answer *a = &c->answer;

	return a->has_range && !a->coded && a->first == c->range.at &&
	       a->last - a->first == c->range.bytes - 1;
}

static bool
may_pass(unsigned status)
{
	return (status >= 500 && status != 501) || status == 429 || status == 408;
}

enum http_verdict
http_judge(const struct http_call *c)
{
	unsigned status = c->answer.status;

	if (c->done)
		return HTTP_GOOD;
	if (c->code == CURLE_OUT_OF_MEMORY || c->code == CURLE_URL_MALFORMAT ||
	    c->code == CURLE_PEER_FAILED_VERIFICATION || c->too_long ||
	    c->code == CURLE_UNSUPPORTED_PROTOCOL || c->code == CURLE_TOO_MANY_REDIRECTS)
		return HTTP_BAD;
	/* A server that was never reached may be misspelled: no further try. */
	if (!c->h->known && (c->code == CURLE_COULDNT_CONNECT ||
				c->code == CURLE_COULDNT_RESOLVE_HOST))
		return HTTP_BAD;
	if (status == 206 && (!is_asked(c) || !is_same_file(c->h, &c->answer)))
		return c->code == CURLE_OK || c->got > 0 ? HTTP_BAD : HTTP_AGAIN;
	if (status != 206 && status >= 200)
		return may_pass(status) ? HTTP_AGAIN : HTTP_BAD;
	return c->code == CURLE_OK && c->got == c->range.bytes ? HTTP_GOOD : HTTP_AGAIN;
}

/* When the server has the file again that was opened, reads succeed again.  Without an ETag and a date
 * any file of that length would be taken for it, so it counts as changed from now on. */
static int
err_changed(struct http *h, struct err *e)
{
	if (h->first.etag[0] == '\0' && h->first.modified[0] == '\0')
		h->changed = true;
	return err_set(e, ERR_FORMAT, "%s: has changed since it was opened", h->name);
}

/* The error of a successful status whose content is not what was asked for. */
static int
err_answer(const struct http_call *c, struct err *e)
{
	struct http *h = c->h;

	if (c->answer.status == 200 && (!h->known || has_same_validators(h, &c->answer)))
		return err_set(e, ERR_UNSUPPORTED,
		    "%s: the server sends the whole file when a part of it is "
		    "requested: "
		    "it does not support range requests",
		    h->name);
	if (c->answer.status == 200 || !is_same_file(h, &c->answer))
		return err_changed(h, e);
	return err_set(e, ERR_FORMAT,
	    "%s: the server's answer is not the %zu bytes at %" PRIu64
	    " that it was asked for",
	    h->name, c->range.bytes, c->range.at);
}

static int
err_call(struct http_call *c, unsigned tries, struct err *e)
{
	struct http *h = c->h;
	unsigned status = c->answer.status;

	if (h->cancelled || cancel_signal() != 0)
		return err_set(e, ERR_CANCELLED, "%s: is not needed any more", h->name);
	if (c->too_long)
		return err_set(
		    e, ERR_FORMAT, "%s: the server's answer is too long", h->name);
	if ((status == 200 || status == 206) && http_judge(c) == HTTP_BAD &&
	    (c->code == CURLE_OK || c->code == CURLE_WRITE_ERROR))
		return err_answer(c, e);
	if (h->known && (status == 416 || status == 412))
		return err_changed(h, e);
	if (status / 100 == 3)
		return err_set(
		    e, ERR_IO, "%s: the server's redirects lead to no file", h->name);
	if (status >= 400)
		return err_set(e, !h->known && (status == 404 || status == 410) ? ERR_ABSENT : ERR_IO,
		    "%s: the server answers %u (tries: %u)", h->name, status, tries);
	return err_set(e, ERR_IO, "%s: %s (tries: %u)", h->name,
	    c->code == CURLE_OK ? "the server's answer ends too early"
	                        : curl_easy_strerror(c->code),
	    tries);
}

static int
perform(struct http *h, struct http_call *calls, size_t n, struct err *e)
{
	struct http_call *failed;
	unsigned tries;

	if (h->changed)
		return err_changed(h, e);
	if (http_perform(h, calls, n, &failed, &tries, e) != 0)
		return -1;
	return failed == NULL ? 0 : err_call(failed, tries, e);
}

int
http_fetch(struct http *h, const struct http_range *ranges, size_t n, struct err *e)
{
	struct http_call *calls = calloc(n, sizeof *calls);

	if (calls == NULL)
		return err_nomem(e, h->name);
	for (size_t i = 0; i < n; i++)
		calls[i] = (struct http_call){ .h = h, .range = ranges[i] };
	int rc = perform(h, calls, n, e);
	free(calls);
	return rc;
}

/* Whether the file is empty: no first byte can be requested, and the answer says so, or is the
 * whole file. */
static bool
is_empty(const struct http_call *c)
{
	const struct http_answer *a = &c->answer;

	return (a->status == 416 && a->has_total && a->total == 0) ||
	       (a->status == 200 && c->code == CURLE_OK);
}

/* Request the first byte, and take the file's length and validators from the answer. */
static int
look(struct http *h, struct err *e)
{
	uint8_t byte;
	struct http_call c = { .h = h, .range = { 0, 1, &byte } };

	if (perform(h, &c, 1, e) != 0 && !is_empty(&c))
		return -1;
	if (!is_empty(&c) && !c.answer.has_total)
		return err_set(e, ERR_UNSUPPORTED,
		    "%s: the server does not say how long the file is", h->name);
	h->first = c.answer;
	h->bytes = is_empty(&c) ? 0 : c.answer.total;
	h->known = true;
	return 0;
}

/* The URL without "user:password@" and "?query". */
static char *
harmless_name(const char *url)
{
	const char *host = strstr(url, "://") + 3;
	size_t scheme = (size_t)(host - url), authority = strcspn(host, "/?#");
	const char *at = memrchr(host, '@', authority);
	const char *from = at != NULL ? at + 1 : host;
	size_t n = strcspn(from, "?#");
	char *name = malloc(scheme + n + 1);

	if (name == NULL)
		return NULL;
	memcpy(name, url, scheme);
	memcpy(name + scheme, from, n);
	name[scheme + n] = '\0';
	return name;
}

int
http_open(struct http **out, const char *url, struct err *e)
{
	const char *seconds = getenv("STREAM_HTTP_SECONDS");
	struct http *h;

	if (curl_lib_load(e) != 0)
		return -1;
	if ((h = calloc(1, sizeof *h)) == NULL)
		return err_nomem(e, url);
	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->idle_again, NULL);
	h->url = strdup(url);
	h->name = harmless_name(url);
	double most = seconds != NULL ? strtod(seconds, NULL) : 0;
	most = most > 0 ? most : TRY_SECONDS;
	h->seconds = most < OPEN_SECONDS ? most : OPEN_SECONDS;
	int rc = h->url != NULL && h->name != NULL ? look(h, e) : err_nomem(e, url);
	h->seconds = most;
	if (rc != 0) {
		http_close(h);
		return -1;
	}
	*out = h;
	return 0;
}

void
http_close(struct http *h)
{
	if (h == NULL)
		return;
	http_workers_free(h);
	pthread_cond_destroy(&h->idle_again);
	pthread_mutex_destroy(&h->lock);
	free(h->url);
	free(h->name);
	free(h);
}

const char *
http_name(const struct http *h)
{
	return h->name;
}

uint64_t
http_bytes(const struct http *h)
{
	return h->bytes;
}

void
http_cancel(struct http *h)
{
	h->cancelled = true;
}
