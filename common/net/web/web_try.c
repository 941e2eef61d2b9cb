/* web_try.c: one try of a request: what is asked for, which limits the answer has, and
 * whether another try may help.  web_client.c calls this, in any thread. */
#include "common/net/web/web_try.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"

enum {
	HEAD_BYTES_MAX = 64 << 10, /* of all header lines of an answer */
	CONNECT_SECONDS = 10, /* TCP tries three more times, after 1, 3 and 7 s */
	LEAST_RATE = 1000, /* bytes a second */
	STALL_SECONDS = 20, /* time below LEAST_RATE that ends a try */
};

static void
note_moved(struct web_call *c)
{
	c->moved = true;
	c->moved_at_us = clock_boot_us();
}

static size_t
on_head(char *p, size_t size, size_t n, void *arg)
{
	struct web_call *c = arg;
	size_t bytes = size * n;

	note_moved(c);
	c->head_bytes += bytes;
	if (c->head_bytes > HEAD_BYTES_MAX) {
		c->too_long = true;
		return 0;
	}
	if (web_answer_line(&c->answer, p, bytes))
		c->filled = c->got.len = 0;
	return bytes;
}

/* Is it a success that has to be a part of a file? */
static bool
is_part(const struct web_call *c)
{
	return c->to != NULL && c->answer.status / 100 == 2;
}

/* Take a part of the body.  What is not wanted, or too long, ends the try. */
static size_t
on_body(char *p, size_t size, size_t n, void *arg)
{
	struct web_call *c = arg;
	bool good = c->answer.status / 100 == 2, part = is_part(c);
	size_t bytes = size * n, most = good ? c->bytes : WEB_ERROR_BYTES_MAX;
	size_t has = part ? c->filled : c->got.len;

	note_moved(c);
	if (part && c->answer.status != 206)
		return 0;
	if (bytes > most - has) {
		c->too_long = good;
		return 0;
	}
	if (!part) {
		buf_bytes(&c->got, p, bytes);
		return buf_ok(&c->got) ? bytes : 0;
	}
	memcpy(c->to + c->filled, p, bytes);
	c->filled += bytes;
	return bytes;
}

static size_t
send_body(char *p, size_t size, size_t n, void *arg)
{
	struct web_call *c = arg;
	size_t left = c->body_bytes - c->sent, most = size * n;

	note_moved(c);
	most = most < left ? most : left;
	if (most > 0)
		memcpy(p, (const char *)c->body + c->sent, most);
	c->sent += most;
	return most;
}

static int
seek_body(void *arg, curl_off_t to, int origin)
{
	struct web_call *c = arg;

	if (origin != SEEK_SET || to < 0 || (size_t)to > c->body_bytes)
		return CURL_SEEKFUNC_FAIL;
	c->sent = (size_t)to;
	return CURL_SEEKFUNC_OK;
}

/* A try may take as long as bytes move.  It ends when hardly any has moved for the time
 * that this returns, which is at most the time that is left. */
static long
stall_seconds(const struct web_call *c)
{
	double left = c->retry.seconds;

	return left < STALL_SECONDS ? (long)left + 1 : STALL_SECONDS;
}

static void
set_limits(CURL *easy, const struct web_client_config *k, const struct web_call *c)
{
	long connect = k->connect_seconds > 0 ? k->connect_seconds : CONNECT_SECONDS;
	long stall = stall_seconds(c);

	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, connect < stall ? connect : stall);
	curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, (long)LEAST_RATE);
	curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, stall);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
}

static void
set_way(CURL *easy, const struct web_client_config *k, const struct web_call *c)
{
	bool secure = strncasecmp(c->url, "https:", 6) == 0;

	curl_easy_setopt(easy, CURLOPT_URL, c->url);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, k->redirects > 0 ? 1L : 0L);
	curl_easy_setopt(easy, CURLOPT_MAXREDIRS, (long)k->redirects);
	curl_easy_setopt(
	    easy, CURLOPT_REDIR_PROTOCOLS_STR, secure ? "https" : "http,https");
	curl_easy_setopt(easy, CURLOPT_USERAGENT, k->agent);
	if (k->direct)
		curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
}

static void
set_body(CURL *easy, struct web_call *c)
{
	curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
	curl_easy_setopt(easy, CURLOPT_READFUNCTION, send_body);
	curl_easy_setopt(easy, CURLOPT_READDATA, c);
	curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, seek_body);
	curl_easy_setopt(easy, CURLOPT_SEEKDATA, c);
	curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)c->body_bytes);
}

static void
set_call(CURL *easy, struct web_call *c)
{
	char range[64];

	if (c->body != NULL || (c->method != NULL && strcmp(c->method, "PUT") == 0))
		set_body(easy, c);
	if (c->method != NULL)
		curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, c->method);
	if (c->to != NULL) {
		snprintf(range, sizeof range, "%" PRIu64 "-%" PRIu64, c->from,
		    c->from + c->bytes - 1);
		curl_easy_setopt(easy, CURLOPT_RANGE, range);
	}
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, c->headers);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_head);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, c);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, c);
	curl_easy_setopt(easy, CURLOPT_PRIVATE, c);
}

int
web_header(struct web_call *c, const char *line)
{
	struct curl_slist *longer = curl_slist_append(c->headers, line);

	if (longer == NULL)
		return -1;
	c->headers = longer;
	return 0;
}

int
web_try_begin(const struct web_client_config *k, struct web_call *c)
{
	CURL *easy = c->easy = curl_easy_init();

	if (easy == NULL)
		return -1;
	c->answer = (struct web_answer){ .status = 0 };
	c->got.len = c->sent = c->filled = c->head_bytes = 0;
	c->too_long = c->moved = false;
	c->moved_at_us = clock_boot_us();
	set_limits(easy, k, c);
	set_way(easy, k, c);
	if (k->dress != NULL && k->dress(k->owner, c, easy) != 0)
		return -1;
	set_call(easy, c);
	return 0;
}

void
web_try_end(struct web_call *c, CURLcode code)
{
	c->code = code;
	curl_easy_cleanup(c->easy); /* its connections are the line's, and stay */
	c->easy = NULL;
	curl_slist_free_all(c->headers);
	c->headers = NULL;
}

bool
web_is_unreached(const struct web_call *c)
{
	return c->code == CURLE_COULDNT_CONNECT ||
	       c->code == CURLE_COULDNT_RESOLVE_HOST ||
	       (c->code == CURLE_OPERATION_TIMEDOUT && c->answer.status == 0);
}

/* Is it the part that was asked for? */
static bool
is_asked(const struct web_call *c)
{
	const struct web_answer *a = &c->answer;

	return a->status == 206 && a->has_range && !a->coded && a->first == c->from &&
	       a->last - a->first == c->bytes - 1;
}

static bool
is_lasting(CURLcode code)
{
	return code == CURLE_OUT_OF_MEMORY || code == CURLE_URL_MALFORMAT ||
	       code == CURLE_PEER_FAILED_VERIFICATION ||
	       code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_TOO_MANY_REDIRECTS;
}

/* Is the answer that there is nothing to be had, or not here? */
static bool
is_refusal(const struct web_call *c)
{
	unsigned status = c->answer.status;

	return status >= 400 || (status >= 300 && !web_is_unreached(c));
}

/* Is the answer, of which all that matters has come, another part than was asked for, or
 * the whole? */
static bool
is_other_part(const struct web_call *c)
{
	return is_part(c) && !is_asked(c) &&
	       (c->code == CURLE_OK || c->code == CURLE_WRITE_ERROR || c->filled > 0);
}

static bool
may_pass(unsigned status)
{
	return (status >= 500 && status != 501) || status == 429 || status == 408;
}

enum web_verdict
web_judge(const struct web_call *c)
{
	if (c->too_long || is_lasting(c->code) || is_other_part(c) || !buf_ok(&c->got) ||
	    (c->doubtful && web_is_unreached(c)))
		return WEB_BAD;
	if (is_refusal(c))
		return may_pass(c->answer.status) ? WEB_AGAIN : WEB_BAD;
	bool whole = is_part(c) ? c->filled == c->bytes : c->answer.status / 100 == 2;
	return c->code == CURLE_OK && whole ? WEB_GOOD : WEB_AGAIN;
}

/* A line that stalled may have moved a byte just now; one that was never connected took less
 * time than stalling does. */
bool
web_try_again(const struct web_client_config *k, struct web_call *c)
{
	uint64_t now = clock_boot_us();

	double silent = c->code == CURLE_OPERATION_TIMEDOUT && c->moved
	                    ? (double)stall_seconds(c)
	                    : (double)(now - c->moved_at_us) / 1e6;

	return retry_again(&c->retry, k->tries, silent, now) &&
	       web_judge(c) == WEB_AGAIN;
}

static int
err_status(const struct web_client_config *k, const struct web_call *c, struct err *e)
{
	unsigned status = c->answer.status;
	char said[300] = "";

	if (status / 100 == 3)
		snprintf(said, sizeof said, "and redirects are not followed further");
	else if (k->explain != NULL)
		k->explain(c->got.base, c->got.len, said, sizeof said);
	err_set(e, ERR_IO, "%.300s: the server answers %u%s%s (tries: %u)", c->name,
	    status, said[0] != '\0' ? ", " : "", said, c->retry.tries);
	e->os = status == 404 || status == 410 ? ENOENT : 0;
	return -1;
}

int
web_error(const struct web_client_config *k, const struct web_call *c, struct err *e)
{
	if (c->code == CURLE_OUT_OF_MEMORY || !buf_ok(&c->got))
		return err_nomem(e, c->name);
	if (c->too_long)
		return err_set(
		    e, ERR_FORMAT, "%.300s: the server's answer is too long", c->name);
	if (is_refusal(c))
		return err_status(k, c, e);
	if (is_other_part(c))
		return err_set(e, ERR_FORMAT,
		    "%.300s: the server's answer is not the %zu bytes at %" PRIu64
		    " that it was asked for",
		    c->name, c->bytes, c->from);
	return err_set(e, ERR_IO, "%.300s: %s (tries: %u)", c->name,
	    c->code == CURLE_OK ? "the server's answer ends too early"
	                        : curl_easy_strerror(c->code),
	    c->retry.tries);
}
