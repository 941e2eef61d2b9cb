/* s3.c: a bucket as a place of objects: the calls of objects.h as requests of S3.  Called by the
 * store, in any thread. */
#include "emustore/s3/s3.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
check_range(const struct s3 *s, const struct s3_call *c, struct err *e)
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

static int
get_range(void *ctx, const char *key, uint64_t from, size_t bytes, void *out, struct err *e)
{
	struct s3 *s = ctx;
	struct s3_call c = { .method = "GET",
		.key = key,
		.ranged = true,
		.from = from,
		.bytes = bytes };
	int rc = s3_perform(s, &c, e);

	if (rc == 0)
		rc = check_range(s, &c, e);
	if (rc == 0)
		memcpy(out, c.got.base, bytes);
	buf_free(&c.got);
	return rc;
}

static int
load(void *ctx, const char *key, size_t max, struct buf *out, struct err *e)
{
	struct s3 *s = ctx;
	struct s3_call c = { .method = "GET", .key = key, .bytes = max, .got = *out };
	int rc = s3_perform(s, &c, e);

	if (rc == 0 && c.status != 200)
		rc = err_set(e, ERR_FORMAT, "%.150s: %.140s: the server answers %ld",
		    s->title, key, c.status);
	*out = c.got;
	return rc;
}

static int
put(void *s, const char *key, const void *data, size_t bytes, struct err *e)
{
	struct s3_call c = { .method = "PUT",
		.key = key,
		.body = data,
		.body_bytes = bytes,
		.bytes = S3_ERROR_BYTES_MAX };
	int rc = s3_perform(s, &c, e);

	buf_free(&c.got);
	return rc;
}

static int
remove_key(void *s, const char *key, struct err *e)
{
	struct s3_call c = {
		.method = "DELETE", .key = key, .bytes = S3_ERROR_BYTES_MAX
	};
	int rc = s3_perform(s, &c, e);

	buf_free(&c.got);
	return rc != 0 && c.status == 404 ? 0 : rc;
}

static int
list(void *ctx, const char *folder, object_fn *fn, void *arg, uint64_t *now, struct err *e)
{
	struct s3 *s = ctx;
	char query[3 * 2 * OBJECT_KEY_MAX + 100], prefix[OBJECT_KEY_MAX];
	struct s3_page *page = calloc(1, sizeof *page);
	int rc = page == NULL ? err_nomem(e, "a list of objects") : 0;
	bool first = true;

	snprintf(prefix, sizeof prefix, "%s%s", s->prefix, folder);
	while (rc == 0 && (first || page->more)) {
		struct s3_call c = {
			.method = "GET", .query = query, .bytes = LIST_BYTES_MAX
		};
		query[0] = '\0'; /* in the order in which it is signed */
		if (!first) {
			strcpy(query, "continuation-token=");
			s3_escape(query, sizeof query, page->token, false);
			strcat(query, "&");
		}
		strcat(query, "list-type=2&max-keys=1000&prefix=");
		s3_escape(query, sizeof query, prefix, false);
		rc = s3_perform(s, &c, e);
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

static void
close_bucket(void *ctx)
{
	struct s3 *s = ctx;

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

/* Fill in what a url and the environment say. */
static int
fill(struct s3 *s, const char *url, struct err *e)
{
	const char *seconds = getenv("EMUSTORE_S3_SECONDS");

	s->seconds = seconds != NULL ? atof(seconds) : 0;
	if (s->seconds <= 0)
		s->seconds = TRY_SECONDS;
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
	struct s3 *s;

	if (curl_lib_load(e) != 0)
		return err_ctx(e, "%.200s", url);
	if ((s = calloc(1, sizeof *s)) == NULL)
		return err_nomem(e, url);
	pthread_mutex_init(&s->lock, NULL);
	int rc = fill(s, url, e);
	if (rc == 0 && (*out = objects_new(&ops, s, s->title, s->address)) == NULL)
		rc = err_nomem(e, url);
	if (rc != 0)
		close_bucket(s);
	return rc;
}
