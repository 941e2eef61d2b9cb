/* answer.c: requests to replies, by the settings, the sessions and the uploads.  The master's first
 * thread calls it. */
#include "mfrisbeed/master/answer.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/wire/addr.h"

static const uint8_t nobody[4];

/* A request on behalf of another host is heard only where that host may do it, and the asker, too. */
static bool
may(const struct answerer *a, const struct asker *who, const uint8_t host[4],
    const char *name,
    bool (*allowed)(const struct settings *, const uint8_t host[4], const char *name))
{
	return allowed(a->settings, who->from, name) &&
	       (memcmp(host, nobody, sizeof nobody) == 0 ||
		   allowed(a->settings, host, name));
}

static void
refuse(const struct asker *who, const char *name, uint16_t error)
{
	char from[ADDR_TEXT_MAX];

	log_info("refused from=%s name=%s: the master %s", addr_text(who->from, from), name,
	    master_error_text(error));
}

static void
sign(struct master_signature *s, int64_t mtime)
{
	uint32_t seconds = htonl((uint32_t)mtime);

	s->type = MASTER_SIGNATURE_MTIME;
	memcpy(s->bytes, &seconds, sizeof seconds);
}

static uint16_t
error_of(const struct err *e)
{
	return e->kind == ERR_ABSENT    ? MASTER_NO_IMAGE
	       : e->kind == ERR_USAGE   ? MASTER_INVALID
	       : e->kind == ERR_REFUSED ? MASTER_TRY_AGAIN
	                                : MASTER_FAILED;
}

static void
describe(struct master_get_reply *r, const struct catalog_entry *x)
{
	r->bytes = x->bytes;
	if (x->store == NULL)
		sign(&r->signature, x->mtime);
}

static void
running_at(struct master_get_reply *r, const struct sessions_place *p,
    const struct asker *who)
{
	r->running = true;
	memcpy(r->server, who->here, sizeof r->server);
	memcpy(r->addr, p->addr, sizeof r->addr);
	r->port = p->port;
}

/* False: the session is starting. */
static bool
get_session(const struct answerer *a, const struct asker *who, const struct master_get *m,
    const struct catalog_entry *x, struct master_get_reply *r)
{
	struct sessions_place p;
	struct err e;

	if (sessions_ask(a->sessions, m->name, x, &p, &e) != 0) {
		log_warn("%s", e.text);
		r->error = error_of(&e);
		return true;
	}
	if (p.state == SESSIONS_STARTING)
		return false;
	if (p.state == SESSIONS_FAILED) {
		r->error = error_of(&p.err);
		return true;
	}
	r->method = MASTER_MULTICAST;
	running_at(r, &p, who);
	return true;
}

static bool
get_image(const struct answerer *a, const struct asker *who, const struct master_get *m,
    struct master_get_reply *r)
{
	struct catalog_entry x;
	struct sessions_place p;
	struct err e;
	bool now = true;

	if (catalog_find(&x, a->settings, m->name, &e) != 0) {
		r->error = error_of(&e);
		return true;
	}
	describe(r, &x);
	if (m->status_only) {
		r->method = MASTER_MULTICAST;
		if (sessions_find(a->sessions, m->name, &x, &p) &&
		    p.state == SESSIONS_RUNNING)
			running_at(r, &p, who);
	} else if ((m->methods & MASTER_MULTICAST) == 0) {
		r->error = MASTER_NO_METHOD;
	} else {
		now = get_session(a, who, m, &x, r);
	}
	catalog_entry_free(&x);
	return now;
}

static ssize_t
answer_get(const struct answerer *a, const struct asker *who, const void *request,
    size_t bytes, uint8_t *out, struct err *e)
{
	struct master_get_reply r = { 0 };
	struct master_get m = { 0 };

	if (master_get_read(&m, request, bytes, e) != 0)
		r.error = MASTER_INVALID;
	else if (!may(a, who, m.host, m.name, settings_may_load))
		r.error = MASTER_NO_ACCESS;
	else if (uploads_has(a->uploads, m.name))
		r.error = MASTER_TRY_AGAIN;
	else if (!get_image(a, who, &m, &r))
		return 0;
	if (r.error != MASTER_OK) {
		refuse(who, m.name, r.error);
		r = (struct master_get_reply){ .error = r.error };
	}
	master_get_reply_write(&r, out);
	return MASTER_GET_REPLY_BYTES;
}

/* What is there now. */
static void
look(const struct answerer *a, const struct master_put *m, struct master_put_reply *r)
{
	struct catalog_entry x;
	struct err ignored;

	if (catalog_find(&x, a->settings, m->name, &ignored) != 0)
		return;
	r->exists = true;
	r->bytes = x.bytes;
	if (x.store == NULL)
		sign(&r->signature, x.mtime);
	catalog_entry_free(&x);
}

static void
await(const struct answerer *a, const struct asker *who, const struct master_put *m,
    struct master_put_reply *r)
{
	struct upload_request q = { .name = m->name,
		.bytes = m->bytes,
		.bytes_max = a->settings->upload_max,
		.timeout_s = m->timeout_s };
	char *path = NULL;
	struct err e;

	memcpy(q.from, who->from, sizeof q.from);
	memcpy(q.here, who->here, sizeof q.here);
	int rc = catalog_upload_path(&path, a->settings, m->name, &e);
	q.path = path;
	if (rc == 0)
		rc = uploads_begin(a->uploads, &q, &r->port, &e);
	if (rc == 0) {
		memcpy(r->addr, who->here, sizeof r->addr);
	} else {
		log_warn("no upload: %s", e.text);
		r->error = e.kind == ERR_ABSENT ? MASTER_NOT_IMPLEMENTED : error_of(&e);
	}
	free(path);
}

static ssize_t
answer_put(const struct answerer *a, const struct asker *who, const void *request,
    size_t bytes, uint8_t *out, struct err *e)
{
	struct master_put_reply r = { .bytes_max = a->settings->upload_max };
	struct master_put m = { 0 };

	if (master_put_read(&m, request, bytes, e) != 0)
		r.error = MASTER_INVALID;
	else if (!may(a, who, m.host, m.name, settings_may_upload))
		r.error = MASTER_NO_ACCESS;
	else if (m.bytes > r.bytes_max)
		r.error = MASTER_TOO_BIG;
	else {
		look(a, &m, &r);
		if (!m.status_only)
			await(a, who, &m, &r);
	}
	if (r.error != MASTER_OK) {
		refuse(who, m.name, r.error);
		r = (struct master_put_reply){ .error = r.error, .bytes_max = r.bytes_max };
	}
	master_put_reply_write(&r, out);
	return MASTER_PUT_REPLY_BYTES;
}

ssize_t
answer_make(const struct answerer *a, const struct asker *who, const void *request,
    size_t bytes, uint8_t out[MASTER_PUT_REPLY_BYTES], struct err *e)
{
	enum master_type type;
	size_t whole;

	if (master_message_bytes(request, &type, &whole, e) != 0)
		return -1;
	if (type == MASTER_GET)
		return answer_get(a, who, request, bytes, out, e);
	if (type == MASTER_PUT)
		return answer_put(a, who, request, bytes, out, e);
	return err_set(e, ERR_FORMAT, "is a reply, not a request");
}
