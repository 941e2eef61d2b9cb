/* s3.c: a bucket as a place of objects: the calls of objects.h as requests of S3.  Called by the
 * store, in any thread. */
#include "emustore/s3/s3.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/number.h"
#include "emustore/s3/s3_impl.h"
#include "emustore/s3/s3_list.h"
#include "emustore/s3/s3_role.h"

enum {
	LIST_BYTES_MAX = 8 << 20,
	TRY_SECONDS = 60, /* without a byte, in all tries of one request */
	RENEW_SECONDS = 300, /* before the keys of a role expire */
	ASK_AGAIN_SECONDS = 10,
};

bool
s3_is_url(const char *s)
{
	return strncmp(s, "s3://", 5) == 0;
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
	if (s->bucket[0] == '\0' || !s3_only_of(s->bucket, ".-") ||
	    !s3_only_of(s->prefix, "._+-/") || strstr(s->prefix, "//") != NULL ||
	    strstr(s->prefix, "./") != NULL || n > 300 || strlen(s->bucket) > 100)
		return err_set(e, ERR_USAGE,
		    "\"%.200s\" is not s3://BUCKET/PREFIX of letters, digits and "
		    "\"._+-\"",
		    url);
	return 0;
}

/* Copy the keys alone: other threads read all other settings without the lock. */
static void
take_keys(struct s3_config *to, const struct s3_config *from)
{
	memcpy(to->id, from->id, sizeof to->id);
	memcpy(to->secret, from->secret, sizeof to->secret);
	memcpy(to->token, from->token, sizeof to->token);
	to->expires = from->expires;
}

void
s3_keys(struct s3 *s, struct s3_config *out)
{
	int64_t now = (int64_t)time(NULL);
	struct err ignored; /* the keys at hand are tried then */

	pthread_mutex_lock(&s->lock);
	*out = s->c;
	if (s->c.expires != 0 && now > s->c.expires - RENEW_SECONDS &&
	    now - s->asked_at > ASK_AGAIN_SECONDS) {
		s->asked_at = now;
		if (s3_role_get(out, &ignored) == 1)
			take_keys(&s->c, out);
		else
			take_keys(out, &s->c);
	}
	pthread_mutex_unlock(&s->lock);
}

static int
get_range(void *s, const char *key, uint64_t from, size_t bytes, void *out, struct err *e)
{
	struct web_call c = { .to = out, .from = from, .bytes = bytes };
	int rc = s3_perform(s, &c, key, NULL, e);

	buf_free(&c.got);
	return rc;
}

static int
load(void *ctx, const char *key, size_t max, struct buf *out, struct err *e)
{
	struct s3 *s = ctx;
	struct web_call c = { .bytes = max, .got = *out };
	int rc = s3_perform(s, &c, key, NULL, e);

	if (rc == 0 && c.answer.status != 200)
		rc = err_set(e, ERR_FORMAT, "%.150s: %.140s: the server answers %u",
		    s->title, key, c.answer.status);
	*out = c.got;
	return rc;
}

static int
put(void *s, const char *key, const void *data, size_t bytes, struct err *e)
{
	struct web_call c = { .method = "PUT",
		.body = data,
		.body_bytes = bytes,
		.bytes = WEB_ERROR_BYTES_MAX };
	int rc = s3_perform(s, &c, key, NULL, e);

	buf_free(&c.got);
	return rc;
}

static int
remove_key(void *s, const char *key, struct err *e)
{
	struct web_call c = { .method = "DELETE", .bytes = WEB_ERROR_BYTES_MAX };
	int rc = s3_perform(s, &c, key, NULL, e);

	buf_free(&c.got);
	return rc != 0 && c.answer.status == 404 ? 0 : rc;
}

/* Ask for the page behind the last one, or for the first page. */
static int
get_page(struct s3 *s, const char *prefix, const struct s3_page *last, struct web_call *c,
    struct err *e)
{
	/* In the order in which it is signed. */
	char query[3 * 2 * OBJECT_KEY_MAX + 100] = "";

	if (last->more) {
		strcpy(query, "continuation-token=");
		s3_escape(query, sizeof query, last->token, false);
		strcat(query, "&");
	}
	strcat(query, "list-type=2&max-keys=1000&prefix=");
	s3_escape(query, sizeof query, prefix, false);
	*c = (struct web_call){ .bytes = LIST_BYTES_MAX };
	return s3_perform(s, c, NULL, query, e);
}

static uint64_t
date_of(const struct web_answer *a)
{
	time_t t = curl_getdate(a->date, NULL);

	return t > 0 ? (uint64_t)t : 0;
}

static int
list(void *ctx, const char *folder, object_fn *fn, void *arg, uint64_t *now,
    struct err *e)
{
	struct s3 *s = ctx;
	char prefix[OBJECT_KEY_MAX];
	struct s3_page *page = calloc(1, sizeof *page);
	struct web_call c;
	int rc = page == NULL ? err_nomem(e, "a list of objects") : 0;
	bool first = true;

	snprintf(prefix, sizeof prefix, "%s%s", s->prefix, folder);
	while (rc == 0 && (first || page->more)) {
		rc = get_page(s, prefix, page, &c, e);
		if (rc == 0 && first && now != NULL)
			*now = date_of(&c.answer);
		if (rc == 0 && s3_list_page(c.got.base, c.got.len, prefix, page, fn, arg,
				   e) != 0)
			rc = err_ctx(e, "%.150s", s->title);
		buf_free(&c.got);
		first = false;
	}
	free(page);
	return rc;
}

static void
close_bucket(void *ctx)
{
	struct s3 *s = ctx;

	web_client_close(s->web);
	pthread_mutex_destroy(&s->lock);
	free(s->title);
	free(s->address);
	free(s->bucket);
	free(s->prefix);
	free(s->signing);
	explicit_bzero(&s->c, sizeof s->c);
	free(s);
}

/* Fill in what a url and the environment say. */
static int
fill(struct s3 *s, const char *url, struct err *e)
{
	const struct web_client_config config = { .agent = "emustore/" SUITE_VERSION,
		.dress = s3_dress,
		.explain = s3_error_text,
		.owner = s };

	if (web_client_open(&s->web, &config, e) != 0)
		return err_ctx(e, "%.200s", url);
	s->seconds = number_seconds("EMUSTORE_S3_SECONDS", TRY_SECONDS);
	return s3_config_get(&s->c, e) == 0 ? name_parts(s, url, e) : -1;
}

int
s3_open(struct objects **out, const char *url, struct err *e)
{
	static const struct object_ops ops = { .put = put,
		.get = get_range,
		.load = load,
		.list = list,
		.remove = remove_key,
		.close = close_bucket };
	struct s3 *s = calloc(1, sizeof *s);

	if (s == NULL)
		return err_nomem(e, url);
	pthread_mutex_init(&s->lock, NULL);
	int rc = fill(s, url, e);
	if (rc == 0 && (*out = objects_new(&ops, s, s->title, s->address)) == NULL)
		rc = err_nomem(e, url);
	if (rc != 0)
		close_bucket(s);
	return rc;
}
