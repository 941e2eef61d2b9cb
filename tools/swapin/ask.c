/* ask.c: one HTTP call to the controller (ask.h). main.c calls this, in the program's
 * first thread.  */
#include "tools/swapin/ask.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/net/web/web_client.h"

/* ANSWER_BYTES_MAX: a session of 20000 nodes, with 3 KB for each. */
enum { ANSWER_BYTES_MAX = 64 << 20, SILENT_S = 60 };

static int
read_answer(const struct buf *b, unsigned status, struct jtree **out, struct err *e)
{
	struct err why;

	if (jtree_read(out, b->len > 0 ? (const char *)b->base : "", b->len, &why) != 0)
		return err_set(e, ERR_FORMAT, "the controller's answer (HTTP status %u) is %s", status, why.text);
	if (status >= 200 && status < 300)
		return 0;
	const char *said = jtree_text(jtree_get(*out, "error"));
	err_set(e, err_kind_of(jtree_text(jtree_get(*out, "kind"))), "%s",
	    said != NULL ? said : "the controller refuses it");
	jtree_free(*out);
	*out = NULL;
	return -1;
}

static int
dress(void *owner, struct web_call *c, CURL *easy)
{
	const struct ask *a = owner;
	char line[400];

	(void)easy;
	if (web_header(c, "Content-Type: application/json") != 0)
		return -1;
	if (a->token == NULL)
		return 0;
	snprintf(line, sizeof line, "Authorization: Bearer %s", a->token);
	return web_header(c, line);
}

/* Set the error that ask_controller() returns when the controller does not answer.  Returns -1. */
static int
away(const struct ask *a, const char *why, struct err *e)
{
	err_set(e, ERR_IO, "the controller at %s does not answer: %s", a->server, why);
	e->os = ECONNREFUSED;
	return -1;
}

/* Does a web server in front of the controller answer with this status while the
 * controller is restarted?  */
static bool
is_of_proxy(unsigned status)
{
	return status >= 502 && status <= 504;
}

/* The result of a call; *e is its error, if it has failed. */
static int
outcome(const struct ask *a, const struct web_call *c, struct jtree **out, struct err *e)
{
	unsigned status = c->answer.status;
	char why[200];

	if (e->kind == ERR_NOMEM || e->kind == ERR_CANCELLED)
		return -1;
	if (c->code == CURLE_OK && !is_of_proxy(status))
		return read_answer(&c->got, status, out, e);
	if (c->code == CURLE_OK)
		snprintf(why, sizeof why, "HTTP status %u", status);
	else
		snprintf(why, sizeof why, "%s%s", curl_easy_strerror(c->code),
		    c->code == CURLE_COULDNT_CONNECT ? " (controllerd FOLDER starts one)" : "");
	return away(a, why, e);
}

int
ask_controller(const struct ask *a, const char *path, const char *body, struct jtree **out,
    struct err *e)
{
	const struct web_client_config config = { .agent = "swapin/" SUITE_VERSION,
		.tries = 1,
		.direct = true,
		.dress = dress,
		.owner = (void *)a };
	char url[1024];
	struct web_call c = { .name = a->server,
		.url = url,
		.method = body != NULL ? "POST" : NULL,
		.body = body,
		.body_bytes = body != NULL ? strlen(body) : 0,
		.bytes = ANSWER_BYTES_MAX,
		.retry.seconds = SILENT_S };
	struct web_client *w;

	*out = NULL;
	*e = (struct err){ .kind = ERR_NONE };
	snprintf(url, sizeof url, "%s%s%s",
	    strstr(a->server, "://") == NULL ? "http://" : "", a->server, path);
	if (web_client_open(&w, &config, e) != 0)
		return -1;
	web_perform(w, &c, 1, e);
	int rc = outcome(a, &c, out, e);
	buf_free(&c.got);
	web_client_close(w);
	return rc;
}
