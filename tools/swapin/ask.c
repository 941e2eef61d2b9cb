/* ask.c: one HTTP call to the controller, by libcurl (ask.h).  main.c calls this, in
 * the program's first thread. */
#include "tools/swapin/ask.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/net/curl_lib.h"

/* ANSWER_BYTES_MAX: a session of 20000 nodes, with 3 KB for each. */
enum { ANSWER_BYTES_MAX = 64 << 20, CONNECT_S = 10, WHOLE_S = 60 };

static size_t
take(char *data, size_t each, size_t n, void *arg)
{
	struct buf *b = arg;

	if (b->len + each * n > ANSWER_BYTES_MAX)
		return 0;
	buf_bytes(b, data, each * n);
	return buf_ok(b) ? each * n : 0;
}

static int
kind_error(const char *kind)
{
	static const struct {
		const char *word;
		enum err_kind kind;
	} kinds[] = { { "usage", ERR_USAGE }, { "absent", ERR_ABSENT }, { "refused", ERR_REFUSED },
		{ "damaged", ERR_FORMAT }, { "memory", ERR_NOMEM } };

	for (size_t i = 0; kind != NULL && i < sizeof kinds / sizeof kinds[0]; i++)
		if (strcmp(kind, kinds[i].word) == 0)
			return kinds[i].kind;
	return ERR_IO;
}

static int
read_answer(const struct buf *b, long status, struct jtree **out, struct err *e)
{
	struct err why;

	if (jtree_read(out, b->len > 0 ? (const char *)b->base : "", b->len, &why) != 0)
		return err_set(e, ERR_FORMAT, "the controller's answer (HTTP status %ld) is %s", status, why.text);
	if (status >= 200 && status < 300)
		return 0;
	const char *said = jtree_text(jtree_get(*out, "error"));
	err_set(e, (enum err_kind)kind_error(jtree_text(jtree_get(*out, "kind"))), "%s",
	    said != NULL ? said : "the controller refuses it");
	jtree_free(*out);
	*out = NULL;
	return -1;
}

static struct curl_slist *
headers(const struct ask *a)
{
	char line[400];
	struct curl_slist *list = curl_slist_append(NULL, "Content-Type: application/json");

	if (a->token != NULL) {
		snprintf(line, sizeof line, "Authorization: Bearer %s", a->token);
		list = curl_slist_append(list, line);
	}
	return list;
}

static void
set_up(CURL *c, const struct ask *a, const char *path, const char *body, struct buf *b,
    struct curl_slist *list)
{
	char url[1024];

	snprintf(url, sizeof url, "%s%s%s", strstr(a->server, "://") == NULL ? "http://" : "", a->server, path);
	curl_easy_setopt(c, CURLOPT_URL, url);
	curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(c, CURLOPT_HTTPHEADER, list);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, take);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, b);
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_NOPROXY, "*");
	curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_S);
	curl_easy_setopt(c, CURLOPT_TIMEOUT, (long)WHOLE_S);
	if (body != NULL)
		curl_easy_setopt(c, CURLOPT_POSTFIELDS, body);
}

/* Set the error that ask() returns when the controller does not answer.  Returns -1. */
static int
away(const struct ask *a, const char *why, struct err *e)
{
	err_set(e, ERR_IO, "the controller at %s does not answer: %s", a->server, why);
	e->os = ECONNREFUSED;
	return -1;
}

/* Does a web server in front of the controller answer with this status while the controller
 * is restarted? */
static bool
is_of_proxy(long status)
{
	return status >= 502 && status <= 504;
}

int
ask(const struct ask *a, const char *path, const char *body, struct jtree **out, struct err *e)
{
	struct buf b = { 0 };
	long status = 0;
	char why[40];
	int rc = -1;

	*out = NULL;
	if (curl_lib_load(e) != 0)
		return -1;
	CURL *c = curl_easy_init();
	struct curl_slist *list = headers(a);
	if (c == NULL || list == NULL) {
		err_nomem(e, "a call");
	} else {
		set_up(c, a, path, body, &b, list);
		CURLcode code = curl_easy_perform(c);
		curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
		snprintf(why, sizeof why, "HTTP status %ld", status);
		rc = code != CURLE_OK      ? away(a, curl_easy_strerror(code), e)
		     : is_of_proxy(status) ? away(a, why, e)
		                           : read_answer(&b, status, out, e);
	}
	curl_slist_free_all(list);
	curl_easy_cleanup(c);
	buf_free(&b);
	return rc;
}
