/* answer.c: answers requests by the settings, the sessions, the uploads and the parent
 * (answer.h).  conns.c calls it, in the master's first thread. */
#include "mfrisbeed/master/answer.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/wire/addr.h"
#include "mfrisbeed/master/fetched.h"
#include "mfrisbeed/master/names.h"

static const uint8_t nobody[4];

/* May a line be logged because of this request? */
static bool
may_log(const struct asker *who)
{
	return who->border == NULL || border_may_log(who->border);
}

/* A whole request, as it was received. */
struct request {
	const void *bytes;
	size_t n;
	bool needs_token; /* check_access() has found: only a token is missing, or the right one */
};

static bool
proved(const void *arg, const uint8_t token[MASTER_TOKEN_BYTES])
{
	const struct request *q = arg;

	return master_proof_is_by(q->bytes, q->n, token);
}

/* A request on behalf of another host is allowed only when both that host and the asker may do
 * what it asks for. */
static enum settings_verdict
may(const struct answerer *a, const struct asker *who, const uint8_t host[4],
    struct settings_wish w)
{
	w.host = who->from;
	enum settings_verdict own = settings_may(a->settings, &w);
	if (memcmp(host, nobody, sizeof nobody) == 0)
		return own;
	w.host = host;
	enum settings_verdict other = settings_may(a->settings, &w);
	return own < other ? own : other;
}

/* Returns MASTER_OK or MASTER_NO_ACCESS.  When the client lacks only the proof of a token,
 * `needs_token` says so, and if it has said that it has one, the signature gets a challenge. */
static uint16_t
check_access(const struct answerer *a, const struct asker *who, const uint8_t host[4],
    struct settings_wish w, struct request *q, struct master_signature *s)
{
	const uint8_t *challenge;
	bool has_token = master_proof_get(q->bytes, q->n, &challenge);
	bool answers =
	    has_token && challenge_holds(a->challenge, clock_us(), who->from, challenge);

	w.proved = answers ? proved : NULL;
	w.arg = q;
	enum settings_verdict v = may(a, who, host, w);
	q->needs_token = v == SETTINGS_WITH_TOKEN;
	if (v == SETTINGS_WITH_TOKEN && has_token && !answers) {
		s->type = MASTER_SIGNATURE_CHALLENGE;
		challenge_make(a->challenge, clock_us(), who->from, s->bytes);
	}
	return v == SETTINGS_YES ? MASTER_OK : MASTER_NO_ACCESS;
}

static void
refuse(const struct asker *who, const char *name, uint16_t error, const struct request *q,
    const struct master_signature *s)
{
	char from[ADDR_TEXT_MAX];

	if (s->type == MASTER_SIGNATURE_CHALLENGE) {
		log_debug("client has to prove its token from=%s name=%s",
		    addr_text(who->from, from), name);
		return;
	}
	if (may_log(who))
		log_info("refused from=%s name=%s: the master %s%s",
		    addr_text(who->from, from), name, master_error_text(error),
		    error == MASTER_NO_ACCESS && q->needs_token
			? " without the token of a rule, which the client has not proved"
			: "");
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
	if (x->mtime != 0)
		sign(&r->signature, x->mtime);
}

/* Clients take blocks only from the server that the reply names, so it names the address that the
 * session sends from, which may be another one than that at which the client has asked. */
static void
running_at(struct master_get_reply *r, const struct sessions_place *p,
    const struct asker *who)
{
	bool known = memcmp(p->server, nobody, sizeof nobody) != 0;

	r->running = true;
	memcpy(r->server, known ? p->server : who->here, sizeof r->server);
	memcpy(r->addr, p->addr, sizeof r->addr);
	r->port = p->port;
}

/* False: the session is starting. */
static bool
get_session(const struct answerer *a, const struct asker *who, const struct master_get *m,
    const struct catalog_entry *x, struct master_get_reply *r)
{
	bool unicast = (m->methods & MASTER_MULTICAST) == 0;
	bool arrives = unicast && x->at_parent && !fetched_is_whole(x);
	/* An image that still arrives is served by multicast alone.  For a client that wants
	 * unicast a multicast session is begun, which fetches the image, and the client is told
	 * to ask again. */
	const struct sessions_wish w = { .name = m->name,
		.entry = x,
		.unicast_at = unicast && !arrives ? who->here : NULL };
	struct sessions_place p;
	struct err e;

	if (sessions_ask(a->sessions, &w, &p, &e) != 0) {
		if (may_log(who))
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
	if (arrives) {
		r->error = MASTER_TRY_AGAIN;
		return true;
	}
	r->method = unicast ? MASTER_UNICAST : MASTER_MULTICAST;
	running_at(r, &p, who);
	return true;
}

/* False: the session is starting, or the parent is being asked. */
static bool
get_image(const struct answerer *a, const struct asker *who, const struct master_get *m,
    struct master_get_reply *r)
{
	struct catalog_entry x;
	struct sessions_place p;
	struct err e;
	bool now = true;
	int found = parents_image(a->parents, a->settings, m->name, who->from, &x, &e);

	if (found < 0) {
		if (e.kind != ERR_ABSENT && may_log(who))
			log_warn("%s", e.text);
		r->error = error_of(&e);
	}
	if (found <= 0)
		return found < 0;
	describe(r, &x);
	if (m->status_only) {
		const struct sessions_wish w = { .name = m->name, .entry = &x };
		r->method = MASTER_MULTICAST | MASTER_UNICAST;
		if (sessions_find(a->sessions, &w, &p) && p.state == SESSIONS_RUNNING)
			running_at(r, &p, who);
	} else if ((m->methods & (MASTER_MULTICAST | MASTER_UNICAST)) == 0) {
		r->error = MASTER_NO_METHOD;
	} else {
		now = get_session(a, who, m, &x, r);
	}
	catalog_entry_free(&x);
	return now;
}

static ssize_t
answer_get(const struct answerer *a, const struct asker *who, const void *request,
    size_t bytes, bool last, uint8_t *out, struct err *e)
{
	struct request q = { .bytes = request, .n = bytes };
	struct master_signature challenge = { 0 };
	struct master_get_reply r = { 0 };
	struct master_get m = { 0 };

	if (master_get_read(&m, request, bytes, e) != 0)
		r.error = MASTER_INVALID;
	else if ((r.error = check_access(a, who, m.host,
		      (struct settings_wish){ .name = m.name }, &q, &challenge)) !=
	         MASTER_OK)
		;
	else if (uploads_has(a->uploads, m.name))
		r.error = MASTER_TRY_AGAIN;
	else if (!get_image(a, who, &m, &r)) {
		if (!last)
			return 0;
		r.error = MASTER_TRY_AGAIN;
	}
	if (r.error != MASTER_OK) {
		refuse(who, m.name, r.error, &q, &challenge);
		r = (struct master_get_reply){ .error = r.error, .signature = challenge };
	}
	master_get_reply_write(&r, out);
	return MASTER_GET_REPLY_BYTES;
}

/* Describes the image that has this name now, if there is one. */
static void
look(const struct answerer *a, const struct master_put *m, struct master_put_reply *r)
{
	struct catalog_entry x;
	struct err ignored;

	if (catalog_find(&x, a->settings, m->name, &ignored) != 0)
		return;
	r->exists = true;
	r->bytes = x.bytes;
	if (x.mtime != 0)
		sign(&r->signature, x.mtime);
	catalog_entry_free(&x);
}

/* Where the upload is to be written.  An image of the folder `images` may be replaced only by
 * whom a rule allows that, and so may its signature.  of: the image that it is the signature of, or
 * NULL. */
static uint16_t
find_path(const struct answerer *a, const struct asker *who, const struct master_put *m,
    const char *of, struct request *q, struct master_signature *challenge, char **path)
{
	const struct settings_wish w = { .upload = true,
		.replace = true,
		.name = of != NULL ? of : m->name };
	bool replaces;
	struct err e;

	if ((of != NULL ? catalog_signature_path(path, &replaces, a->settings, of, &e)
	                : catalog_upload_path(path, &replaces, a->settings, m->name, &e)) != 0) {
		if (may_log(who))
			log_warn("no upload: %s", e.text);
		return e.kind == ERR_ABSENT ? MASTER_NOT_IMPLEMENTED : error_of(&e);
	}
	uint16_t error =
	    replaces ? check_access(a, who, m->host, w, q, challenge) : MASTER_OK;
	if (error != MASTER_OK && challenge->type == MASTER_SIGNATURE_NONE && may_log(who))
		log_warn("no upload: %s: there is such an image, and no rule allows this host to "
			 "replace it",
		    m->name);
	return error;
}

static void
await(const struct answerer *a, const struct asker *who, const struct master_put *m,
    const char *of, struct request *req, struct master_signature *challenge,
    struct master_put_reply *r)
{
	struct upload_request q = { .name = m->name,
		.signature = of != NULL,
		.bytes = m->bytes,
		.bytes_max = a->settings->upload_max,
		.mtime = m->mtime,
		.timeout_s = m->timeout_s };
	char *path = NULL;
	struct err e;

	memcpy(q.from, who->from, sizeof q.from);
	memcpy(q.here, who->here, sizeof q.here);
	r->error = find_path(a, who, m, of, req, challenge, &path);
	q.path = path;
	if (r->error != MASTER_OK) {
		;
	} else if (uploads_begin(a->uploads, &q, &r->port, &e) == 0) {
		memcpy(r->addr, who->here, sizeof r->addr);
	} else {
		if (may_log(who))
			log_warn("no upload: %s", e.text);
		r->error = error_of(&e);
	}
	free(path);
}

static ssize_t
answer_put(const struct answerer *a, const struct asker *who, const void *request,
    size_t bytes, bool last, uint8_t *out, struct err *e)
{
	struct request q = { .bytes = request, .n = bytes };
	struct master_put_reply r = { .bytes_max = a->settings->upload_max };
	struct master_signature challenge = { 0 };
	struct master_put m = { 0 };
	char image[MASTER_NAME_MAX + 1];
	bool read = master_put_read(&m, request, bytes, e) == 0;
	const char *of = read && names_of_signature(m.name, image) ? image : NULL;
	struct settings_wish w = { .upload = true, .name = of != NULL ? of : m.name };

	if (!read)
		r.error = MASTER_INVALID;
	else if ((r.error = check_access(a, who, m.host, w, &q, &challenge)) != MASTER_OK)
		;
	else if (m.bytes > r.bytes_max)
		r.error = MASTER_TOO_BIG;
	else if (!m.status_only && (time_t)m.mtime > time(NULL))
		r.error = MASTER_BAD_MTIME;
	else if (m.status_only && uploads_has(a->uploads, m.name)) {
		/* What was sent is being verified. */
		if (!last)
			return 0;
		r.error = MASTER_TRY_AGAIN;
	} else {
		look(a, &m, &r);
		if (!m.status_only)
			await(a, who, &m, of, &q, &challenge, &r);
	}
	if (r.error != MASTER_OK) {
		refuse(who, m.name, r.error, &q, &challenge);
		r = (struct master_put_reply){ .error = r.error,
			.bytes_max = r.bytes_max,
			.signature = challenge };
	}
	master_put_reply_write(&r, out);
	return MASTER_PUT_REPLY_BYTES;
}

ssize_t
answer_make(const struct answerer *a, const struct asker *who, const void *request,
    size_t bytes, bool last, uint8_t out[MASTER_PUT_REPLY_BYTES], struct err *e)
{
	enum master_type type;
	size_t whole;

	if (master_message_bytes(request, &type, &whole, e) != 0)
		return -1;
	if (type == MASTER_GET)
		return answer_get(a, who, request, bytes, last, out, e);
	if (type == MASTER_PUT)
		return answer_put(a, who, request, bytes, last, out, e);
	return err_set(e, ERR_FORMAT, "is a reply, not a request");
}
