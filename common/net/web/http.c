/* http.c: a file on a web server as a disk: keeps what was known of the file when it was
 * opened, and checks whether each answer is about that file.  Called through disk.h, in
 * any thread. */
#include "common/net/web/http.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/number.h"
#include "common/net/web/web_client.h"

enum {
	/* Without a byte, in all tries of a request; STREAM_HTTP_SECONDS replaces it. */
	TRY_SECONDS = 60,
	OPEN_SECONDS = 10, /* of the first request, at most */
	REDIRECTS_MAX = 5,
};

struct http {
	struct web_client *web;
	char *url, *name;
	double seconds; /* without a byte, in all tries of one range */
	/* The file as it was when it was opened. */
	bool known;
	struct web_answer first;
	uint64_t bytes;
	/* For good: nothing would tell that it is the same file again. */
	atomic_bool changed;
};

bool
http_is(const char *text)
{
	return strncasecmp(text, "http://", 7) == 0 || strncasecmp(text, "https://", 8) == 0;
}

/* The header If-Range: if the file has changed, the server sends the whole new file, and
 * the change is noticed. */
static int
dress(void *owner, struct web_call *c, CURL *easy)
{
	const struct http *h = owner;
	char line[WEB_ETAG_MAX + 40];
	const char *v = web_answer_validator(&h->first);

	(void)easy;
	if (!h->known || v[0] == '\0')
		return 0;
	snprintf(line, sizeof line, "If-Range: %s", v);
	return web_header(c, line);
}

/* An answer to a request with If-Range need not repeat the date when it has the ETag (RFC
 * 9110, 15.3.7). */
static bool
has_same_validators(const struct http *h, const struct web_answer *a)
{
	bool dateless = a->modified[0] == '\0' && a->etag[0] != '\0';

	return strcmp(a->etag, h->first.etag) == 0 &&
	       (dateless || strcmp(a->modified, h->first.modified) == 0);
}

/* Whether the answer is about the file that was opened. */
static bool
is_same_file(const struct http *h, const struct web_answer *a)
{
	if (!h->known)
		return true;
	return a->has_total && a->total == h->bytes && has_same_validators(h, a);
}

/* When the server has the file again that was opened, reads succeed again.  Without an
 * ETag and a date any file of that length would be taken for it, so it counts as changed
 * from now on. */
static int
err_changed(struct http *h, struct err *e)
{
	if (h->first.etag[0] == '\0' && h->first.modified[0] == '\0')
		h->changed = true;
	return err_set(e, ERR_FORMAT, "%s: has changed since it was opened", h->name);
}

/* The error of a call that has failed: *e, or what it says of the file. */
static int
err_call(struct http *h, const struct web_call *c, struct err *e)
{
	unsigned status = c->answer.status;
	bool other = e->kind == ERR_FORMAT && !c->too_long; /* than was asked for */

	if (other && status == 200 && (!h->known || has_same_validators(h, &c->answer)))
		return err_set(e, ERR_UNSUPPORTED,
		    "%s: the server sends the whole file when a part of it is requested: "
		    "it does not support range requests",
		    h->name);
	if ((other && !is_same_file(h, &c->answer)) ||
	    (e->kind == ERR_IO && h->known && (status == 416 || status == 412)))
		return err_changed(h, e);
	if (!h->known && e->os == ENOENT)
		e->kind = ERR_ABSENT;
	return -1;
}

static int
perform(struct http *h, struct web_call *calls, size_t n, struct err *e)
{
	if (h->changed)
		return err_changed(h, e);
	struct web_call *failed = web_perform(h->web, calls, n, e);
	if (failed != NULL)
		return err_call(h, failed, e);
	for (size_t i = 0; i < n; i++)
		if (!is_same_file(h, &calls[i].answer))
			return err_changed(h, e);
	return 0;
}

static struct web_call
call_of(struct http *h, const struct disk_part *r)
{
	return (struct web_call){ .name = h->name,
		.url = h->url,
		.to = r->to,
		.from = r->at,
		.bytes = r->bytes,
		.retry.seconds = h->seconds,
		.doubtful = !h->known };
}

static int
fetch(void *ctx, const struct disk_part *parts, size_t n, struct err *e)
{
	struct http *h = ctx;
	struct web_call *calls = calloc(n, sizeof *calls);

	if (calls == NULL)
		return err_nomem(e, h->name);
	for (size_t i = 0; i < n; i++)
		calls[i] = call_of(h, &parts[i]);
	int rc = perform(h, calls, n, e);
	for (size_t i = 0; i < n; i++)
		buf_free(&calls[i].got);
	free(calls);
	return rc;
}

static int
fetch_one(void *h, void *buf, size_t len, uint64_t off, struct err *e)
{
	return fetch(h, &(struct disk_part){ off, len, buf }, 1, e);
}

/* Whether the file is empty: no first byte can be requested, and the answer says so, or
 * is the whole file. */
static bool
is_empty(const struct web_call *c)
{
	const struct web_answer *a = &c->answer;

	return (a->status == 416 && a->has_total && a->total == 0) ||
	       (a->status == 200 && c->code == CURLE_OK);
}

/* Request the first byte, and take the file's length and validators from the answer. */
static int
look(struct http *h, struct err *e)
{
	uint8_t byte;
	struct web_call c = call_of(h, &(struct disk_part){ 0, 1, &byte });
	int rc = perform(h, &c, 1, e);

	buf_free(&c.got);
	if (rc != 0 && !is_empty(&c))
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

/* Open the file, of which nothing is known yet. */
static int
begin(struct http *h, struct err *e)
{
	const struct web_client_config config = { .agent = "ndz-stream/" SUITE_VERSION,
		.redirects = REDIRECTS_MAX,
		.dress = dress,
		.owner = h };
	double most = number_seconds("STREAM_HTTP_SECONDS", TRY_SECONDS);

	h->seconds = most < OPEN_SECONDS ? most : OPEN_SECONDS;
	if (web_client_open(&h->web, &config, e) != 0 || look(h, e) != 0)
		return -1;
	h->seconds = most;
	return 0;
}

static int
close_http(void *ctx)
{
	struct http *h = ctx;

	web_client_close(h->web);
	free(h->url);
	free(h->name);
	free(h);
	return 0;
}

int
http_open(struct disk **out, const char *url, struct err *e)
{
	static const struct disk_ops ops = {
		.read = fetch_one, .read_parts = fetch, .close = close_http
	};
	struct http *h = calloc(1, sizeof *h);

	if (h == NULL)
		return err_nomem(e, url);
	h->url = strdup(url);
	h->name = harmless_name(url);
	int rc = h->url != NULL && h->name != NULL ? begin(h, e) : err_nomem(e, url);
	if (rc == 0)
		rc = disk_open_ops(out, h->name, DISK_FILE, h->bytes, &ops, h, e);
	if (rc != 0)
		close_http(h);
	return rc;
}
