#include "common/store/s3.h"

#include <curl/curl.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/cli.h"
#include "common/base/sha256.h"
#include "common/store/s3_config.h"

enum {
	URL_BYTES = 3 * S3_KEY_MAX + 600,
	LIST_BYTES_MAX = 8 << 20,
	ERROR_BYTES_MAX = 16 << 10,
	HEADER_BYTES_MAX = 64 << 10,
	CONNECT_SECONDS = 10,
	STALL_SECONDS = 20, /* below a kilobyte a second */
	TRY_SECONDS = 60,   /* all tries of one request; EMUSTORE_S3_SECONDS */
	PAUSE_MS = 100,
	PAUSE_MS_MAX = 5000,
};

struct s3 {
	struct s3_config c;
	char *title, *address, *bucket, *prefix; /* prefix: "" or with a slash */
	char *signing;
	double seconds;
	pthread_mutex_t lock;
	CURL **idle; /* connections that wait to be used again */
	size_t nidle, cap;
};

/* One request, and what came of the last try of it. */
struct call {
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
	uint64_t date;
};

bool
s3_is_url(const char *s)
{
	return strncmp(s, "s3://", 5) == 0;
}

const char *
s3_title(const struct s3 *s)
{
	return s->title;
}

const char *
s3_address(const struct s3 *s)
{
	return s->address;
}

static void
init_curl(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
}

static bool
only_of(const char *s, const char *others)
{
	for (; *s != '\0'; s++)
		if (!((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') ||
			(*s >= '0' && *s <= '9') || strchr(others, *s) != NULL))
			return false;
	return true;
}

static int
name_parts(struct s3 *s, const char *url, struct err *e)
{
	const char *bucket = url + 5, *slash = strchrnul(bucket, '/');
	const char *prefix = *slash == '/' ? slash + 1 : slash;
	size_t n = strlen(prefix);

	while (n > 0 && prefix[n - 1] == '/')
		n--;
	s->title = strdup(url);
	s->bucket = strndup(bucket, (size_t)(slash - bucket));
	if (s->title == NULL || s->bucket == NULL ||
	    asprintf(&s->prefix, "%.*s%s", (int)n, prefix, n > 0 ? "/" : "") < 0 ||
	    asprintf(&s->address, "%s/%s/%s", s->c.endpoint, s->bucket, s->prefix) <
		0 ||
	    asprintf(&s->signing, "aws:amz:%s:s3", s->c.region) < 0)
		return err_nomem(e, url);
	if (s->bucket[0] == '\0' || !only_of(s->bucket, ".-") ||
	    !only_of(s->prefix, "._+-/") || strstr(s->prefix, "//") != NULL ||
	    strstr(s->prefix, "./") != NULL || n > 300 || strlen(s->bucket) > 100)
		return err_set(e, ERR_USAGE,
		    "\"%.200s\" is not s3://BUCKET/PREFIX of letters, digits and "
		    "\"._+-\"",
		    url);
	return 0;
}

int
s3_open(struct s3 **out, const char *url, struct err *e)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct s3 *s = calloc(1, sizeof *s);
	const char *seconds = getenv("EMUSTORE_S3_SECONDS");

	if (s == NULL)
		return err_nomem(e, url);
	pthread_once(&once, init_curl);
	pthread_mutex_init(&s->lock, NULL);
	s->seconds = seconds != NULL ? atof(seconds) : 0;
	if (s->seconds <= 0)
		s->seconds = TRY_SECONDS;
	if (s3_config_get(&s->c, e) != 0 || name_parts(s, url, e) != 0) {
		s3_close(s);
		return -1;
	}
	*out = s;
	return 0;
}

void
s3_close(struct s3 *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < s->nidle; i++)
		curl_easy_cleanup(s->idle[i]);
	free(s->idle);
	pthread_mutex_destroy(&s->lock);
	free(s->title);
	free(s->address);
	free(s->bucket);
	free(s->prefix);
	free(s->signing);
	explicit_bzero(&s->c, sizeof s->c);
	free(s);
}

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

/* All but letters, digits and "-_.~" as %XX; of a path the slashes stay. */
static void
escape(char *out, size_t cap, const char *s, bool path)
{
	size_t n = strlen(out);

	for (; *s != '\0' && n + 4 < cap; s++) {
		char one[2] = { *s, 0 };
		if (only_of(one, path ? "-_.~/" : "-_.~"))
			n += (size_t)snprintf(out + n, cap - n, "%c", *s);
		else
			n += (size_t)snprintf(
			    out + n, cap - n, "%%%02X", (unsigned char)*s);
	}
}

static size_t
on_header(char *p, size_t size, size_t n, void *arg)
{
	struct call *c = arg;
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
	struct call *c = arg;
	size_t bytes = size * n;
	size_t max = c->status >= 200 && c->status < 300 ? c->bytes : ERROR_BYTES_MAX;

	if (bytes > max - (c->got.len < max ? c->got.len : max)) {
		c->too_long = true;
		return 0;
	}
	buf_bytes(&c->got, p, bytes);
	return buf_ok(&c->got) ? bytes : 0;
}

/* The status is needed before the first byte of the body. */
struct body {
	struct call *c;
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
	struct call *c = arg;
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
	struct call *c = arg;

	if (origin != SEEK_SET || to < 0 || (size_t)to > c->body_bytes)
		return CURL_SEEKFUNC_FAIL;
	c->sent = (size_t)to;
	return CURL_SEEKFUNC_OK;
}

static int
on_progress(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	(void)arg, (void)a, (void)b, (void)c, (void)d;
	return cli_signal() != 0;
}

static struct curl_slist *
headers_of(const struct s3 *s, const struct call *c)
{
	char line[3000];
	uint8_t digest[SHA256_BYTES];
	struct curl_slist *list = NULL;

	sha256(c->body_bytes > 0 ? c->body : "", c->body_bytes, digest);
	size_t n = (size_t)snprintf(line, sizeof line, "x-amz-content-sha256: ");
	for (size_t i = 0; i < sizeof digest; i++)
		n += (size_t)snprintf(line + n, sizeof line - n, "%02x", digest[i]);
	list = curl_slist_append(list, line);
	if (s->c.token[0] != '\0') {
		snprintf(line, sizeof line, "x-amz-security-token: %s", s->c.token);
		list = curl_slist_append(list, line);
	}
	return list;
}

static void
set_common(const struct s3 *s, CURL *h, double seconds)
{
	curl_easy_setopt(h, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(h, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(h, CURLOPT_AWS_SIGV4, s->signing);
	curl_easy_setopt(h, CURLOPT_USERNAME, s->c.id); /* may have a colon */
	curl_easy_setopt(h, CURLOPT_PASSWORD, s->c.secret);
	curl_easy_setopt(h, CURLOPT_USERAGENT, "emustore/" SUITE_VERSION);
	curl_easy_setopt(h, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
	curl_easy_setopt(h, CURLOPT_LOW_SPEED_LIMIT, 1000L);
	curl_easy_setopt(h, CURLOPT_LOW_SPEED_TIME, (long)STALL_SECONDS);
	curl_easy_setopt(h, CURLOPT_TIMEOUT_MS, (long)(seconds * 1000) + 1);
	curl_easy_setopt(h, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(h, CURLOPT_XFERINFOFUNCTION, on_progress);
}

static void
set_call(CURL *h, struct call *c, struct body *b, char range[64])
{
	curl_easy_setopt(h, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(h, CURLOPT_HEADERDATA, c);
	curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, on_body_of);
	curl_easy_setopt(h, CURLOPT_WRITEDATA, b);
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

/* One try: curl's word on it; the rest is in *c. */
static CURLcode
try_once(struct s3 *s, struct call *c, double seconds)
{
	char url[URL_BYTES], range[64];
	CURL *h = take_handle(s);
	struct curl_slist *headers = headers_of(s, c);
	struct body body = { c, h };

	if (h == NULL || headers == NULL) {
		curl_slist_free_all(headers);
		curl_easy_cleanup(h);
		return CURLE_OUT_OF_MEMORY;
	}
	snprintf(url, sizeof url, "%s/%s", s->c.endpoint, s->bucket);
	if (c->key != NULL) {
		strcat(url, "/");
		escape(url, sizeof url, s->prefix, true);
		escape(url, sizeof url, c->key, true);
	}
	if (c->query != NULL)
		snprintf(url + strlen(url), sizeof url - strlen(url), "?%s", c->query);
	c->status = 0;
	c->got.len = c->sent = c->header_bytes = 0;
	c->too_long = c->has_range = false;
	set_common(s, h, seconds);
	set_call(h, c, &body, range);
	curl_easy_setopt(h, CURLOPT_URL, url);
	curl_easy_setopt(h, CURLOPT_HTTPHEADER, headers);
	CURLcode code = curl_easy_perform(h);
	curl_easy_getinfo(h, CURLINFO_RESPONSE_CODE, &c->status);
	curl_slist_free_all(headers);
	give_handle(s, h);
	return code;
}

static double
now_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Half of it by chance, so that many that failed together do not come together. */
static void
pause_ms(unsigned ms)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	ms = ms / 2 + (unsigned)(t.tv_nsec / 1000) % (ms / 2 + 1);
	t = (struct timespec){ ms / 1000, (long)(ms % 1000) * 1000000 };
	nanosleep(&t, NULL);
}

static bool
may_pass(CURLcode code, const struct call *c)
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
err_call(const struct s3 *s, const struct call *c, CURLcode code, unsigned tries,
    struct err *e)
{
	char text[300] = "", where[300];

	snprintf(where, sizeof where, "%.150s%s%.140s", s->title,
	    c->key != NULL ? ": " : "", c->key != NULL ? c->key : "");
	if (cli_signal() != 0)
		return err_set(e, ERR_CANCELLED, "%s: stopped by a signal", where);
	if (c->too_long)
		return err_set(e, ERR_FORMAT,
		    "%s: the server's answer is longer than it may be", where);
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

/* Tried until it succeeds, is refused, or the time is over. */
static int
perform(struct s3 *s, struct call *c, struct err *e)
{
	double end = now_seconds() + s->seconds, left = s->seconds;
	unsigned pause = PAUSE_MS, tries = 0;
	CURLcode code;

	for (;;) {
		code = try_once(s, c, left);
		tries++;
		left = end - now_seconds();
		if (!may_pass(code, c) || cli_signal() != 0 || left <= pause / 1000.0)
			break;
		pause_ms(pause);
		left = end - now_seconds();
		pause = 2 * pause < PAUSE_MS_MAX ? 2 * pause : PAUSE_MS_MAX;
	}
	if (code == CURLE_OK && c->status >= 200 && c->status < 300)
		return 0;
	return err_call(s, c, code, tries, e);
}

static int
check_range(const struct s3 *s, const struct call *c, struct err *e)
{
	const char *why = NULL;

	if (c->status != 206)
		why = "does not answer with the range that was asked for";
	else if (!c->has_range || c->first != c->from ||
		 c->last != c->from + c->bytes - 1)
		why = "answers with another range than was asked for";
	else if (c->got.len != c->bytes)
		why = "answers with fewer bytes than it says";
	if (why == NULL)
		return 0;
	return err_set(
	    e, ERR_FORMAT, "%.150s: %.140s: the server %s", s->title, c->key, why);
}

int
s3_get_range(struct s3 *s, const char *key, uint64_t from, size_t bytes, void *out,
    struct err *e)
{
	struct call c = { .method = "GET",
		.key = key,
		.ranged = true,
		.from = from,
		.bytes = bytes };
	int rc = perform(s, &c, e);

	if (rc == 0)
		rc = check_range(s, &c, e);
	if (rc == 0)
		memcpy(out, c.got.base, bytes);
	buf_free(&c.got);
	return rc;
}

int
s3_get(struct s3 *s, const char *key, size_t max, struct buf *out, struct err *e)
{
	struct call c = { .method = "GET", .key = key, .bytes = max, .got = *out };
	int rc = perform(s, &c, e);

	if (rc == 0 && c.status != 200)
		rc = err_set(e, ERR_FORMAT, "%.150s: %.140s: the server answers %ld",
		    s->title, key, c.status);
	*out = c.got;
	return rc;
}

int
s3_put(struct s3 *s, const char *key, const void *data, size_t bytes, struct err *e)
{
	struct call c = { .method = "PUT",
		.key = key,
		.body = data,
		.body_bytes = bytes,
		.bytes = ERROR_BYTES_MAX };
	int rc = perform(s, &c, e);

	buf_free(&c.got);
	return rc;
}

int
s3_delete(struct s3 *s, const char *key, struct err *e)
{
	struct call c = { .method = "DELETE", .key = key, .bytes = ERROR_BYTES_MAX };
	int rc = perform(s, &c, e);

	buf_free(&c.got);
	return rc != 0 && c.status == 404 ? 0 : rc;
}

int
s3_list(struct s3 *s, const char *folder, s3_list_fn *fn, void *arg, uint64_t *now,
    struct err *e)
{
	char query[3 * 2 * S3_KEY_MAX + 100], prefix[S3_KEY_MAX];
	struct s3_page *page = calloc(1, sizeof *page);
	int rc = page == NULL ? err_nomem(e, "a list of objects") : 0;
	bool first = true;

	snprintf(prefix, sizeof prefix, "%s%s", s->prefix, folder);
	while (rc == 0 && (first || page->more)) {
		struct call c = {
			.method = "GET", .query = query, .bytes = LIST_BYTES_MAX
		};
		query[0] = '\0'; /* in the order in which it is signed */
		if (!first) {
			strcpy(query, "continuation-token=");
			escape(query, sizeof query, page->token, false);
			strcat(query, "&");
		}
		strcat(query, "list-type=2&max-keys=1000&prefix=");
		escape(query, sizeof query, prefix, false);
		rc = perform(s, &c, e);
		if (rc == 0 && first && now != NULL)
			*now = c.date;
		if (rc == 0) {
			rc = s3_list_page(
			    c.got.base, c.got.len, prefix, page, fn, arg, e);
			if (rc != 0)
				err_ctx(e, "%.150s", s->title);
		}
		buf_free(&c.got);
		first = false;
	}
	free(page);
	return rc;
}
