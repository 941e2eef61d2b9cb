/* s3_call.c: makes one request of S3: its address, and its signature.  s3.c calls this,
 * in any thread. */
#include <stdio.h>
#include <string.h>

#include "common/base/number.h"
#include "common/base/sha256.h"
#include "emustore/s3/s3_impl.h"

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

static int
add_headers(const struct s3_config *keys, struct web_call *c)
{
	char line[3000];
	uint8_t digest[SHA256_BYTES];

	sha256(c->body_bytes > 0 ? c->body : "", c->body_bytes, digest);
	int n = snprintf(line, sizeof line, "x-amz-content-sha256: ");
	number_hex(digest, sizeof digest, line + n);
	if (web_header(c, line) != 0)
		return -1;
	if (keys->token[0] == '\0')
		return 0;
	snprintf(line, sizeof line, "x-amz-security-token: %s", keys->token);
	return web_header(c, line);
}

int
s3_dress(void *owner, struct web_call *c, CURL *easy)
{
	struct s3 *s = owner;
	struct s3_config keys;

	s3_keys(s, &keys);
	curl_easy_setopt(easy, CURLOPT_AWS_SIGV4, s->signing);
	curl_easy_setopt(easy, CURLOPT_USERNAME, keys.id); /* may have a colon */
	curl_easy_setopt(easy, CURLOPT_PASSWORD, keys.secret);
	int rc = add_headers(&keys, c);
	explicit_bzero(&keys, sizeof keys);
	return rc;
}

int
s3_perform(struct s3 *s, struct web_call *c, const char *key, const char *query,
    struct err *e)
{
	char url[3 * OBJECT_KEY_MAX + 600], name[300];

	snprintf(url, sizeof url, "%s/%s", s->c.endpoint, s->bucket);
	if (key != NULL) {
		strcat(url, "/");
		s3_escape(url, sizeof url, s->prefix, true);
		s3_escape(url, sizeof url, key, true);
	}
	if (query != NULL)
		snprintf(url + strlen(url), sizeof url - strlen(url), "?%s", query);
	snprintf(name, sizeof name, "%.150s%s%.140s", s->title, key != NULL ? ": " : "",
	    key != NULL ? key : "");
	c->url = url;
	c->name = name;
	c->retry.seconds = s->seconds;
	return web_perform(s->web, c, 1, e) == NULL ? 0 : -1;
}
