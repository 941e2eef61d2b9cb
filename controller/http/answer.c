/* answer.c: what each call of the API is answered with (docs/controller.md).  web.c calls this, in
 * the program's first thread. */
#include <stdlib.h>
#include <string.h>

#include "common/base/number.h"
#include "controller/http/page.h"
#include "controller/http/shapes.h"
#include "controller/http/web_impl.h"
#include "controller/http/wish.h"

/* Sessions in one answer: of the history, which is read in parts, and of those that have ended, which
 * the page shows below the running ones. */
enum { HISTORY_MAX = 1000, RECENT = 100 };

static const char json_type[] = "application/json";

void
answer_headers(struct MHD_Response *r, const char *type)
{
	static const char *const fixed[][2] = {
		{ "Content-Security-Policy",
		    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
		    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'" },
		{ "X-Content-Type-Options", "nosniff" },
		{ "Referrer-Policy", "no-referrer" },
		{ "Cache-Control", "no-cache" },
	};

	for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
		MHD_add_response_header(r, fixed[i][0], fixed[i][1]);
	MHD_add_response_header(r, "Content-Type", type);
}

static enum MHD_Result
send_response(struct MHD_Connection *conn, unsigned status, const char *type, struct MHD_Response *r)
{
	if (r == NULL)
		return MHD_NO;
	answer_headers(r, type);
	if (status == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(r, "WWW-Authenticate", "Bearer");
	enum MHD_Result rc = MHD_queue_response(conn, status, r);
	MHD_destroy_response(r);
	return rc;
}

enum MHD_Result
answer_text(struct MHD_Connection *conn, unsigned status, const char *type, char *text, size_t bytes)
{
	if (text == NULL)
		return MHD_NO;
	return send_response(conn, status, type,
	    MHD_create_response_from_buffer(bytes, text, MHD_RESPMEM_MUST_FREE));
}

static enum MHD_Result
answer_json(struct MHD_Connection *conn, unsigned status, struct json *j)
{
	size_t n = 0;
	char *text = json_text(j, &n);

	return answer_text(conn, status, json_type, text, n);
}

static unsigned
status_of(const struct err *e)
{
	switch (e->kind) {
	case ERR_USAGE:
		return MHD_HTTP_BAD_REQUEST;
	case ERR_ABSENT:
		return MHD_HTTP_NOT_FOUND;
	case ERR_REFUSED:
		return MHD_HTTP_CONFLICT;
	default:
		return MHD_HTTP_INTERNAL_SERVER_ERROR;
	}
}

enum MHD_Result
answer_error(struct MHD_Connection *conn, unsigned status, const struct err *e)
{
	struct json *j = json_new();

	json_object(j, NULL);
	json_string(j, "error", e->text);
	json_string(j, "kind", err_word(e->kind));
	json_end(j);
	return answer_json(conn, status != 0 ? status : status_of(e), j);
}

/* A document that is being made, for functions that add one object each. */
struct making {
	struct web *x;
	const struct request *r;
	struct json *j;
	struct swap_now now;
	unsigned members; /* that were added */
};

static int
add_session(void *arg, const struct swap_session *s, struct err *e)
{
	struct making *m = arg;
	(void)e;

	shapes_session(m->j, NULL, m->x->c.w, s, m->now);
	json_end(m->j);
	return 0;
}

static int
add_node(void *arg, const struct swap_node *n, struct err *e)
{
	struct making *m = arg;
	(void)e;

	shapes_node(m->j, NULL, m->x->c.w, n);
	return 0;
}

/* A session that has just ended may not be saved yet: what is known of its nodes now is newer. */
static int
add_member(void *arg, const struct swap_node *n, struct err *e)
{
	struct making *m = arg;
	const struct swap_node *now = swap_find_node(m->x->c.w, n->name);

	m->members++;
	return add_node(arg, now != NULL && now->session == n->session ? now : n, e);
}

/* The nodes of a session that has ended: those that mfrisbeed's history has, or those that are left here. */
static int
add_members(struct making *m, uint32_t id, struct err *e)
{
	const struct jtree *all = jtree_get(m->r->said, "members");

	for (size_t i = 0; i < jtree_count(all); i++)
		shapes_member(m->j, jtree_get(jtree_at(all, i), "node"));
	m->members = (unsigned)jtree_count(all);
	return jtree_count(all) > 0 ? 0 : swapdb_members(m->x->c.state, id, add_member, m, e);
}

/* Says why nodes of a session that has ended are missing.  A history that was deleted, or is that of
 * another mfrisbeed, answers without them. */
static void
add_away(struct making *m, const struct swap_session *s)
{
	char text[200];

	if (m->r->why[0] != '\0')
		json_string(m->j, "away", m->r->why);
	if (m->r->said == NULL || s->nodes != NULL || m->members >= s->total)
		return;
	snprintf(text, sizeof text,
	    "mfrisbeed's history does not have all nodes of this session: %u of %u are here", m->members, s->total);
	json_string(m->j, "away", text);
}

/* One session with all that is known of it. */
static int
add_whole(void *arg, const struct swap_session *s, struct err *e)
{
	struct making *m = arg;
	int rc = 0;

	shapes_session(m->j, NULL, m->x->c.w, s, m->now);
	json_array(m->j, "members");
	for (unsigned i = 0; s->nodes != NULL && i < s->total; i++)
		add_node(m, &m->x->c.w->nodes[s->nodes[i]], e);
	if (s->nodes == NULL)
		rc = add_members(m, s->id, e);
	json_end(m->j);
	add_away(m, s);
	shapes_samples(m->j, s);
	json_end(m->j);
	return rc;
}

static enum MHD_Result
give_session(struct making *m, struct request *r, uint32_t id, unsigned status)
{
	const struct swap_session *s = swap_find_session(m->x->c.w, id);
	struct err e;
	int rc = s != NULL ? add_whole(m, s, &e) : swapdb_session(m->x->c.state, id, add_whole, m, &e);

	if (rc == 0)
		return answer_json(r->conn, status, m->j);
	json_free(m->j);
	return answer_error(r->conn, 0, &e);
}

static void
begin_list(struct making *m, const char *name)
{
	json_object(m->j, NULL);
	json_array(m->j, name);
}

static enum MHD_Result
give_list(struct making *m, struct request *r)
{
	json_end(m->j);
	json_end(m->j);
	return answer_json(r->conn, MHD_HTTP_OK, m->j);
}

static enum MHD_Result
give_sessions(struct making *m, struct request *r)
{
	const struct swap *w = m->x->c.w;
	unsigned ended = 0;

	begin_list(m, "sessions");
	for (size_t i = w->nsessions; i-- > 0;)
		if (w->sessions[i]->state == SWAP_IS_RUNNING || ended++ < RECENT)
			add_session(m, w->sessions[i], NULL);
	return give_list(m, r);
}

static enum MHD_Result
give_history(struct making *m, struct request *r)
{
	const char *before = MHD_lookup_connection_value(r->conn, MHD_GET_ARGUMENT_KIND, "before");
	uint64_t number = 0;
	struct err e;

	begin_list(m, "history");
	int rc = before != NULL ? number_uint(before, 1, UINT32_MAX, &number, &e) : 0;
	if (rc == 0)
		rc = swapdb_history(m->x->c.state, (uint32_t)number, HISTORY_MAX, add_session, m, &e);
	if (rc != 0) {
		json_free(m->j);
		return answer_error(r->conn, 0, &e);
	}
	return give_list(m, r);
}

static enum MHD_Result
give_nodes(struct making *m, struct request *r)
{
	const struct swap *w = m->x->c.w;

	begin_list(m, "nodes");
	for (size_t i = 0; i < w->nnodes; i++)
		add_node(m, &w->nodes[i], NULL);
	return give_list(m, r);
}

static enum MHD_Result
give_sent(struct making *m, struct request *r)
{
	const struct jtree *all = m->x->c.sent(m->x->c.arg);

	begin_list(m, "sent");
	for (size_t i = 0; i < jtree_count(all); i++)
		shapes_sent(m->j, jtree_at(all, i));
	return give_list(m, r);
}

static enum MHD_Result
give_node(struct making *m, struct request *r)
{
	const struct swap_node *n = swap_find_node(m->x->c.w, r->route.name);
	struct err e;

	if (n != NULL) {
		add_node(m, n, NULL);
		return answer_json(r->conn, MHD_HTTP_OK, m->j);
	}
	json_free(m->j);
	err_set(&e, ERR_ABSENT, "there is no node %s", r->route.name);
	return answer_error(r->conn, 0, &e);
}

static enum MHD_Result
give_images(struct making *m, struct request *r)
{
	const char *text = m->x->c.images->text;
	char *copy = text != NULL ? strdup(text) : NULL;

	json_free(m->j);
	return answer_text(r->conn, MHD_HTTP_OK, json_type, copy, copy != NULL ? strlen(copy) : 0);
}

static enum MHD_Result
refuse(struct making *m, struct request *r, unsigned status, const char *why)
{
	struct err e;

	json_free(m->j);
	err_set(&e, status == MHD_HTTP_NOT_FOUND ? ERR_ABSENT : status < 404 ? ERR_REFUSED : ERR_USAGE, "%s", why);
	return answer_error(r->conn, status, &e);
}

/* NULL, or why this body is not taken. */
static const char *
wrong_body(const struct request *r)
{
	const char *type = MHD_lookup_connection_value(r->conn, MHD_HEADER_KIND, "Content-Type");

	if (type == NULL || strncmp(type, json_type, sizeof json_type - 1) != 0 ||
	    (type[sizeof json_type - 1] != '\0' && type[sizeof json_type - 1] != ';'))
		return "the content type has to be application/json";
	return NULL;
}

/* An image that is sent has to be there, and one that is captured must not, unless it may be replaced. */
static int
check_image(const struct images *x, const struct swap_wish *wish, struct err *e)
{
	if (!wish->capture && !images_may_have(x, wish->image))
		return err_set(e, ERR_ABSENT, "there is no image %s", wish->image);
	return wish->capture && !wish->replace && images_have(x, wish->image)
	           ? err_set(e, ERR_REFUSED, "there is an image %s already", wish->image)
	           : 0;
}

/* Saves what a call has changed; if that fails, the call has failed, too, and nothing may come of it later. */
static int
start(struct making *m, struct request *r, uint32_t *id, bool *again, struct err *e)
{
	struct web *x = m->x;
	struct swap_wish *wish = calloc(1, sizeof *wish);

	if (wish == NULL)
		return err_nomem(e, "a session");
	int rc = wish_read(r->body, r->n, wish, e);
	*id = rc == 0 ? swapdb_request(x->c.state, wish->request) : 0;
	*again = *id != 0;
	if (rc == 0 && !*again)
		rc = check_image(x->c.images, wish, e);
	if (rc == 0 && !*again)
		rc = x->c.save(x->c.arg, e); /* what its nodes were before */
	if (rc == 0 && !*again)
		rc = swap_start(x->c.w, m->now, wish, id, again, e);
	free(wish);
	if (rc != 0 || x->c.save(x->c.arg, e) == 0)
		return rc;
	if (!*again)
		swap_take_back(x->c.w, m->now, *id);
	return -1;
}

static enum MHD_Result
change(struct making *m, struct request *r)
{
	const char *wrong = wrong_body(r);
	uint32_t id = r->route.id;
	bool again = true;
	struct err e;

	if (!r->authorised)
		return refuse(m, r, MHD_HTTP_UNAUTHORIZED, "this needs a token: Authorization: Bearer TOKEN");
	if (wrong != NULL)
		return refuse(m, r, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, wrong);
	if (r->body == NULL)
		return MHD_NO;
	int rc = r->route.call == ROUTE_START ? start(m, r, &id, &again, &e)
	                                      : swap_stop(m->x->c.w, m->now, id, &e);
	if (rc == 0 && r->route.call == ROUTE_STOP)
		rc = m->x->c.save(m->x->c.arg, &e);
	if (rc == 0)
		return give_session(m, r, id, again ? MHD_HTTP_OK : MHD_HTTP_CREATED);
	json_free(m->j);
	return answer_error(r->conn, 0, &e);
}

static enum MHD_Result
give_token(struct making *m, struct request *r)
{
	if (!r->authorised)
		return refuse(
		    m, r, MHD_HTTP_UNAUTHORIZED, "this token is not in the file of tokens");
	json_object(m->j, NULL);
	json_bool(m->j, "token", true);
	json_end(m->j);
	return answer_json(r->conn, MHD_HTTP_OK, m->j);
}

static enum MHD_Result
give_page(struct making *m, struct request *r)
{
	const struct page_file *f = page_find(r->route.name);

	if (f == NULL)
		return refuse(m, r, MHD_HTTP_NOT_FOUND, "there is nothing here");
	json_free(m->j);
	return send_response(r->conn, MHD_HTTP_OK, f->type,
	    MHD_create_response_from_buffer((size_t)(f->end - f->base), (void *)(uintptr_t)f->base, MHD_RESPMEM_PERSISTENT));
}

static enum MHD_Result
give_metrics(struct making *m, struct request *r)
{
	size_t n = 0;
	char *text = metrics_text(m->x, &n);

	json_free(m->j);
	return answer_text(r->conn, MHD_HTTP_OK, "text/plain; version=0.0.4", text, n);
}

enum MHD_Result
answer_request(struct web *x, struct request *r)
{
	struct making m = { .x = x, .r = r, .j = json_new(), .now = x->c.now(x->c.arg) };

	switch (r->route.call) {
	case ROUTE_SESSIONS:
		return give_sessions(&m, r);
	case ROUTE_SESSION:
		return give_session(&m, r, r->route.id, MHD_HTTP_OK);
	case ROUTE_START:
	case ROUTE_STOP:
		return change(&m, r);
	case ROUTE_NODES:
		return give_nodes(&m, r);
	case ROUTE_NODE:
		return give_node(&m, r);
	case ROUTE_IMAGES:
		return give_images(&m, r);
	case ROUTE_SENT:
		return give_sent(&m, r);
	case ROUTE_HISTORY:
		return give_history(&m, r);
	case ROUTE_TOKEN:
		return give_token(&m, r);
	case ROUTE_METRICS:
		return give_metrics(&m, r);
	case ROUTE_PAGE:
		return give_page(&m, r);
	case ROUTE_WRONG:
		return refuse(
		    &m, r, MHD_HTTP_METHOD_NOT_ALLOWED, "this call does not have this method");
	default:
		return refuse(&m, r, MHD_HTTP_NOT_FOUND, "there is nothing here");
	}
}
