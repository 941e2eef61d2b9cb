/* s3_call.c: performs one request of S3: signs it, tries again as long as that may help, and
 * limits the answer.  s3.c calls this, in any thread. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/number.h"
#include "common/base/sha256.h"
#include "common/base/timed.h"
#include "emustore/s3/s3_impl.h"
#include "emustore/s3/s3_list.h"

enum {
	URL_BYTES = 3 * OBJECT_KEY_MAX + 600,
	HEADER_BYTES_MAX = 64 << 10,
	CONNECT_SECONDS = 10, /* TCP tries three more times within that (after 1, 3 and 7 s) */
	STALL_SECONDS = 20, /* below a kilobyte a second */
	TRIES_MAX = 30, /* for a line that breaks again and again, while bytes move */
	PAUSE_MS = 100,
	PAUSE_MS_MAX = 5000,
};

static CURL *
take_handle(struct s3 *s)
{
	CURL *h = NULL;

	pthread_mutex_lock(&s->lock);
	if (s->nidle > 0)
		h = s->idle[--s->nidle];
	pthread_mutex_unlock(&s->lock);
	if (h == NULL)
		return curl_easy_init();
	curl_easy_reset(h); /* its connection stays */
	return h;
}

static void
give_handle(struct s3 *s, CURL *h)
{
	pthread_mutex_lock(&s->lock);
	if (s->nidle == s->cap) {
		size_t cap = 2 * s->cap + 8;
		CURL **idle = realloc(s->idle, cap * sizeof *idle);
		if (idle != NULL)
			s->idle = idle, s->cap = cap;
	}
	if (s->nidle < s->cap) {
		s->idle[s->nidle++] = h;
		h = NULL;
	}
	pthread_mutex_unlock(&s->lock);
	curl_easy_cleanup(h);
}

bool
s3_only_of(const char *s, const char *others)
{
	for (; *s != '\0'; s++)
		if (!((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') ||
			(*s >= '0' && *s <= '9') || strchr(others, *s) != NULL))
			return false;
	return true;
}

/* Append s, with all but letters, digits and "-_.~" as %XX; in a path, slashes stay. */
void
s3_escape(char *out, size_t cap, const char *s, bool path)
{
	size_t n = strlen(out);

	for (; *s != '\0' && n + 4 < cap; s++) {
		char one[2] = { *s, 0 };
		if (s3_only_of(one, path ? "-_.~/" : "-_.~"))
			n += (size_t)snprintf(out + n, cap - n, "%c", *s);
		else
			n += (size_t)snprintf(
			    out + n, cap - n, "%%%02X", (unsigned char)*s);
	}
}

static size_t
on_header(char *p, size_t size, size_t n, void *arg)
{
	struct s3_call *c = arg;
	size_t bytes = size * n;
	char line[200];
	uint64_t total;

	c->header_bytes += bytes;
	if (c->header_bytes > HEADER_BYTES_MAX) {
		c->too_long = true;
		return 0;
	}
	snprintf(line, sizeof line, "%.*s", (int)(bytes < 199 ? bytes : 199), p);
	if (strncmp(line, "HTTP/", 5) == 0)
		c->has_range = false, c->got.len = 0;
	if (strncasecmp(line, "content-range:", 14) == 0)
		c->has_range = sscanf(line + 14,
				   " bytes %18" SCNu64 "-%18" SCNu64 "/%18" SCNu64,
				   &c->first, &c->last, &total) == 3;
	if (strncasecmp(line, "date:", 5) == 0) {
		time_t t = curl_getdate(line + 5, NULL);
		c->date = t > 0 ? (uint64_t)t : 0;
	}
	return bytes;
}

static size_t
on_body(char *p, size_t size, size_t n, void *arg)
{
	struct s3_call *c = arg;
	size_t bytes = size * n;
	size_t max = c->status >= 200 && c->status < 300 ? c->bytes
	                                                 : S3_ERROR_BYTES_MAX;

	if (bytes > max - (c->got.len < max ? c->got.len : max)) {
		c->too_long = true;
		return 0;
	}
	buf_bytes(&c->got, p, bytes);
	return buf_ok(&c->got) ? bytes : 0;
}

/* on_body() needs the status before the first byte of the body. */
struct body {
	struct s3_call *c;
	CURL *h;
};

static size_t
on_body_of(char *p, size_t size, size_t n, void *arg)
{
	struct body *b = arg;

	curl_easy_getinfo(b->h, CURLINFO_RESPONSE_CODE, &b->c->status);
	return on_body(p, size, n, b->c);
}

static size_t
send_body(char *p, size_t size, size_t n, void *arg)
{
	struct s3_call *c = arg;
	size_t left = c->body_bytes - c->sent, most = size * n;

	most = most < left ? most : left;
	if (most > 0)
		memcpy(p, (const char *)c->body + c->sent, most);
	c->sent += most;
	return most;
}

static int
seek_body(void *arg, curl_off_t to, int origin)
{
	struct s3_call *c = arg;

	if (origin != SEEK_SET || to < 0 || (size_t)to > c->body_bytes)
		return CURL_SEEKFUNC_FAIL;
	c->sent = (size_t)to;
	return CURL_SEEKFUNC_OK;
}

static int
on_progress(
    void *arg, curl_off_t to_get, curl_off_t got, curl_off_t to_put, curl_off_t put)
{
	struct s3_call *c = arg;
	uint64_t moved = (uint64_t)got + (uint64_t)put;

	(void)to_get, (void)to_put;
	if (moved > c->moved) {
		c->moved = moved;
		c->moved_at_us = clock_boot_us();
	}
	return cancel_signal() != 0;
}

static struct curl_slist *
headers_of(const struct s3_config *keys, const struct s3_call *c)
{
	char line[3000];
	uint8_t digest[SHA256_BYTES];
	struct curl_slist *list = NULL;

	sha256(c->body_bytes > 0 ? c->body : "", c->body_bytes, digest);
	int n = snprintf(line, sizeof line, "x-amz-content-sha256: ");
	number_hex(digest, sizeof digest, line + n);
	list = curl_slist_append(list, line);
	if (keys->token[0] != '\0') {
		snprintf(line, sizeof line, "x-amz-security-token: %s", keys->token);
		list = curl_slist_append(list, line);
	}
	return list;
}

/* A try may take as long as bytes move.  It ends when none has moved for the time that this
 * returns, which is at most the time that is left. */
static long
stall_seconds(double left)
{
	return left < STALL_SECONDS ? (long)left + 1 : STALL_SECONDS;
}

static void
set_common(const struct s3 *s, const struct s3_config *keys, CURL *h, double seconds)
{
	curl_easy_setopt(h, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(h, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(h, CURLOPT_AWS_SIGV4, s->signing);
	curl_easy_setopt(h, CURLOPT_USERNAME, keys->id); /* may have a colon */
	curl_easy_setopt(h, CURLOPT_PASSWORD, keys->secret);
	curl_easy_setopt(h, CURLOPT_USERAGENT, "emustore/" SUITE_VERSION);
	curl_easy_setopt(h, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
	curl_easy_setopt(h, CURLOPT_LOW_SPEED_LIMIT, 1000L);
	curl_easy_setopt(h, CURLOPT_LOW_SPEED_TIME, stall_seconds(seconds));
	curl_easy_setopt(h, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(h, CURLOPT_XFERINFOFUNCTION, on_progress);
}

static void
set_call(CURL *h, struct s3_call *c, struct body *b, char range[64])
{
	curl_easy_setopt(h, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(h, CURLOPT_HEADERDATA, c);
	curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, on_body_of);
	curl_easy_setopt(h, CURLOPT_WRITEDATA, b);
	curl_easy_setopt(h, CURLOPT_XFERINFODATA, c);
	if (strcmp(c->method, "PUT") == 0) {
		curl_easy_setopt(h, CURLOPT_UPLOAD, 1L);
		curl_easy_setopt(h, CURLOPT_READFUNCTION, send_body);
		curl_easy_setopt(h, CURLOPT_READDATA, c);
		curl_easy_setopt(h, CURLOPT_SEEKFUNCTION, seek_body);
		curl_easy_setopt(h, CURLOPT_SEEKDATA, c);
		curl_easy_setopt(
		    h, CURLOPT_INFILESIZE_LARGE, (curl_off_t)c->body_bytes);
	} else if (strcmp(c->method, "GET") != 0)
		curl_easy_setopt(h, CURLOPT_CUSTOMREQUEST, c->method);
	if (c->ranged) {
		snprintf(
		    range, 64, "%" PRIu64 "-%" PRIu64, c->from, c->from + c->bytes - 1);
		curl_easy_setopt(h, CURLOPT_RANGE, range);
	}
}

/* Try once.  Returns curl's result; the rest of the answer is in *c. */
static CURLcode
try_once(struct s3 *s, struct s3_call *c, double seconds)
{
	char url[URL_BYTES], range[64];
	struct s3_config keys;
	CURL *h = take_handle(s);

	s3_keys(s, &keys);
	struct curl_slist *headers = headers_of(&keys, c);
	struct body body = { c, h };

	if (h == NULL || headers == NULL) {
		explicit_bzero(&keys, sizeof keys);
		curl_slist_free_all(headers);
		curl_easy_cleanup(h);
		return CURLE_OUT_OF_MEMORY;
	}
	snprintf(url, sizeof url, "%s/%s", s->c.endpoint, s->bucket);
	if (c->key != NULL) {
		strcat(url, "/");
		s3_escape(url, sizeof url, s->prefix, true);
		s3_escape(url, sizeof url, c->key, true);
	}
	if (c->query != NULL)
		snprintf(url + strlen(url), sizeof url - strlen(url), "?%s", c->query);
	c->status = 0;
	c->got.len = c->sent = c->header_bytes = 0;
	c->moved = 0;
	c->moved_at_us = clock_boot_us();
	c->too_long = c->has_range = false;
	set_common(s, &keys, h, seconds);
	explicit_bzero(&keys, sizeof keys);
	set_call(h, c, &body, range);
	curl_easy_setopt(h, CURLOPT_URL, url);
	curl_easy_setopt(h, CURLOPT_HTTPHEADER, headers);
	CURLcode code = curl_easy_perform(h);
	curl_easy_getinfo(h, CURLINFO_RESPONSE_CODE, &c->status);
	curl_slist_free_all(headers);
	give_handle(s, h);
	return code;
}

/* Sleep between half of `ms` and `ms`, at random, so that clients that failed together do not
 * return together. */
static void
pause_ms(unsigned ms)
{
	timed_pause(clock_us() + (ms / 2 + clock_us() % (ms / 2 + 1)) * 1000);
}

static bool
may_pass(CURLcode code, const struct s3_call *c)
{
	if (c->too_long || code == CURLE_OUT_OF_MEMORY || code == CURLE_URL_MALFORMAT ||
	    code == CURLE_PEER_FAILED_VERIFICATION)
		return false;
	if (code != CURLE_OK)
		return true;
	return (c->status >= 500 && c->status != 501) || c->status == 429 ||
	       c->status == 408;
}

static int
err_call(const struct s3 *s, const struct s3_call *c, CURLcode code, unsigned tries,
    struct err *e)
{
	char text[300] = "", where[300];

	snprintf(where, sizeof where, "%.150s%s%.140s", s->title,
	    c->key != NULL ? ": " : "", c->key != NULL ? c->key : "");
	if (cancel_signal() != 0)
		return err_set(e, ERR_CANCELLED, "%s: stopped by a signal", where);
	if (c->too_long)
		return err_set(
		    e, ERR_FORMAT, "%s: the server's answer is too long", where);
	if (code != CURLE_OK)
		return err_set(e, ERR_IO, "%s: %s (%u tries)", where,
		    curl_easy_strerror(code), tries);
	s3_error_text(c->got.base, c->got.len, text, sizeof text);
	err_set(e, ERR_IO, "%s: the server answers %ld%s%s%s", where, c->status,
	    c->status / 100 == 3 ? " (a redirect, which is not followed)" : "",
	    text[0] != '\0' ? ", " : "", text);
	e->os = c->status == 404 ? ENOENT : 0;
	return -1;
}

/* The time that is left gets less only in pauses, and while hardly a byte moves: a line
 * that moves a kilobyte a second may take as long as it needs. */
int
s3_perform(struct s3 *s, struct s3_call *c, struct err *e)
{
	double left = s->seconds;
	unsigned pause = PAUSE_MS, tries = 0;
	CURLcode code;

	for (;;) {
		code = try_once(s, c, left);
		tries++;
		/* A line that stalled may have moved a byte just now; one that was never
		 * connected took less time than that. */
		left -= code == CURLE_OPERATION_TIMEDOUT && c->moved > 0
		            ? (double)stall_seconds(left)
		            : (double)(clock_boot_us() - c->moved_at_us) / 1e6;
		if (!may_pass(code, c) || cancel_signal() != 0 ||
		    left <= pause / 1000.0 || tries == TRIES_MAX)
			break;
		pause_ms(pause);
		left -= pause / 1000.0;
		pause = 2 * pause < PAUSE_MS_MAX ? 2 * pause : PAUSE_MS_MAX;
	}
	if (code == CURLE_OK && c->status >= 200 && c->status < 300)
		return 0;
	return err_call(s, c, code, tries, e);
}
