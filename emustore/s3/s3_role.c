/* s3_role.c: keys by the role of this machine.  Called by s3_config.c when nothing else has keys,
 * and by s3.c when those at hand are about to expire, in any thread. */
#include "emustore/s3/s3_role.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/net/web/web_client.h"

enum {
	ANSWER_BYTES_MAX = 16 << 10,
	ROLE_BYTES = 200,
	URL_BYTES = 600,
	LINE_BYTES = 4096,
	TRY_SECONDS = 5,
	CONNECT_SECONDS = 1, /* the delay where there is no such server */
};

/* Where Amazon's machines and containers find them. */
static const char instance[] = "http://169.254.169.254",
		  container[] = "http://169.254.170.2",
		  folder[] = "latest/meta-data/iam/security-credentials/";

static int
dress(void *header, struct web_call *c, CURL *easy)
{
	(void)easy;
	return header != NULL ? web_header(c, header) : 0;
}

/* Send a request.  header: a line, or NULL.  1: the answer is in *out; 0: no server is
 * there; -1. */
static int
ask(const char *url, const char *method, char *header, struct buf *out, struct err *e)
{
	const struct web_client_config config = { .agent = "emustore/" SUITE_VERSION,
		.tries = 1,
		.connect_seconds = CONNECT_SECONDS,
		.direct = true, /* these addresses are this machine's own */
		.dress = dress,
		.owner = header };
	struct web_call c = { .name = url,
		.url = url,
		.method = method,
		.bytes = ANSWER_BYTES_MAX,
		.retry.seconds = TRY_SECONDS,
		.got = *out };
	struct web_client *w;

	if (web_client_open(&w, &config, e) != 0)
		return -1;
	bool good = web_perform(w, &c, 1, e) == NULL;
	*out = c.got;
	web_client_close(w);
	return good ? 1 : web_is_unreached(&c) ? 0 : -1;
}

/* Copy a field of a JSON object as text.  1; 0: there is none; -1: it does not fit, or
 * has characters that no key has. */
static int
field(sqlite3_stmt *s, int i, char *out, size_t cap)
{
	const char *text = (const char *)sqlite3_column_text(s, i);
	size_t n = text != NULL ? strlen(text) : 0;

	out[0] = '\0';
	if (n >= cap)
		return -1;
	for (size_t k = 0; k < n; k++)
		if ((unsigned char)text[k] <= ' ' || (unsigned char)text[k] >= 0x7f)
			return -1;
	memcpy(out, text != NULL ? text : "", n + 1);
	return n > 0;
}

/* Read the fields by SQLite, which parses JSON and is linked for the index anyway. */
static int
read_fields(struct s3_config *c, sqlite3_stmt *s)
{
	if (sqlite3_step(s) != SQLITE_ROW || field(s, 0, c->id, sizeof c->id) != 1 ||
	    field(s, 1, c->secret, sizeof c->secret) != 1 ||
	    field(s, 2, c->token, sizeof c->token) < 0)
		return -1;
	c->expires = sqlite3_column_type(s, 3) == SQLITE_NULL ? 0 : sqlite3_column_int64(s, 3);
	return 0;
}

int
s3_role_parse(struct s3_config *c, const void *text, size_t n, struct err *e)
{
	static const char sql[] =
	    "SELECT j->>'AccessKeyId', j->>'SecretAccessKey', j->>'Token', "
	    "unixepoch(j->>'Expiration') FROM (SELECT ?1 AS j)";
	sqlite3 *db = NULL;
	sqlite3_stmt *s = NULL;
	int rc = -1;

	if (n <= ANSWER_BYTES_MAX && sqlite3_open(":memory:", &db) == SQLITE_OK &&
	    sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK &&
	    sqlite3_bind_text(s, 1, text, (int)n, SQLITE_STATIC) == SQLITE_OK)
		rc = read_fields(c, s);
	sqlite3_finalize(s);
	sqlite3_close(db);
	if (rc == 0)
		return 0;
	c->id[0] = c->secret[0] = c->token[0] = '\0';
	return err_set(e, ERR_FORMAT,
	    "the answer with the keys of this machine's role cannot be understood");
}

static int
take(struct s3_config *c, struct buf *answer, int rc, struct err *e)
{
	if (rc == 1 && s3_role_parse(c, answer->base, answer->len, e) != 0)
		rc = -1;
	if (answer->base != NULL)
		explicit_bzero(answer->base, answer->cap);
	buf_free(answer);
	return rc;
}

/* AWS_CONTAINER_CREDENTIALS_RELATIVE_URI, or ..._FULL_URI: where a container is told to ask. */
static int
ask_container(struct s3_config *c, const char *relative, const char *full, struct err *e)
{
	const char *word = getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN");
	char url[URL_BYTES], header[LINE_BYTES];
	struct buf answer = { 0 };

	snprintf(url, sizeof url, "%s%s", relative != NULL ? container : "",
	    relative != NULL ? relative : full);
	snprintf(header, sizeof header, "Authorization: %s", word != NULL ? word : "");
	int rc = ask(url, "GET", word != NULL ? header : NULL, &answer, e);
	return take(c, &answer, rc, e);
}

/* Write the first word of an answer behind the text `before`.  false: it is empty, or too
 * long. */
static bool
put_line(char *out, size_t cap, const char *before, const struct buf *answer)
{
	size_t n = answer->len;
	const char *text = (const char *)answer->base;

	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] <= ' ' || (unsigned char)text[i] >= 0x7f)
			n = i;
	int all = snprintf(out, cap, "%s%.*s", before, (int)n, n > 0 ? text : "");
	return n > 0 && all >= 0 && (size_t)all < cap;
}

/* Ask for a session token, with it for the role's name, and then for the role's keys. */
static int
ask_instance(struct s3_config *c, const char *base, struct err *e)
{
	char url[URL_BYTES], path[URL_BYTES], word[LINE_BYTES];
	char lifetime[] = "X-aws-ec2-metadata-token-ttl-seconds: 300";
	struct buf answer = { 0 };

	snprintf(url, sizeof url, "%.300s/latest/api/token", base);
	int rc = ask(url, "PUT", lifetime, &answer, e);
	if (rc == 1 && !put_line(word, sizeof word, "X-aws-ec2-metadata-token: ", &answer))
		rc = err_set(e, ERR_FORMAT, "%.200s: the answer has no token", url);
	snprintf(path, sizeof path, "%.300s/%s", base, folder);
	if (rc == 1)
		rc = ask(path, "GET", word, &answer, e);
	if (rc == 1 && !put_line(url, sizeof url, path, &answer))
		rc = err_set(e, ERR_FORMAT, "%.200s: this machine has no role", path);
	if (rc == 1)
		rc = ask(url, "GET", word, &answer, e);
	return take(c, &answer, rc, e);
}

int
s3_role_get(struct s3_config *c, struct err *e)
{
	const char *relative = getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
	const char *full = getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI");
	const char *base = getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT");
	const char *off = getenv("AWS_EC2_METADATA_DISABLED");

	if (relative != NULL || full != NULL)
		return ask_container(c, relative, full, e);
	if (off != NULL && strcasecmp(off, "true") == 0)
		return 0;
	return ask_instance(c, base != NULL && base[0] != '\0' ? base : instance, e);
}
