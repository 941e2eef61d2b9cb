/* web.c: the controller's web server (web.h), by libmicrohttpd, which calls back from MHD_run() in
 * the program's first thread. */
#include "controller/http/web_impl.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/number.h"
#include "common/net/taken.h"
#include "controller/http/host.h"
#include "controller/http/token.h"
#include "controller/http/wish.h"

enum {
	CONNECTIONS_MAX = CALLERS_MAX + 128,
	HEADERS_BYTES_MAX = 32768,
	SAYS_US = 3000000, /* how long who asks for what mfrisbeed knows waits for it */
};

static void
on_connection(void *arg, struct MHD_Connection *conn, void **own, enum MHD_ConnectionNotificationCode what)
{
	struct web *x = arg;

	if (what == MHD_CONNECTION_NOTIFY_STARTED)
		*own = callers_come(x->callers, conn);
	else
		callers_go(x->callers, *own);
}

static void
on_completed(void *arg, struct MHD_Connection *conn, void **own, enum MHD_RequestTerminationCode how)
{
	struct web *x = arg;
	struct request *r = *own;

	if (how == MHD_REQUEST_TERMINATED_COMPLETED_OK)
		callers_heard(x->callers, conn, false);
	if (r != NULL) {
		jtree_free(r->said);
		free(r->body);
	}
	free(r);
	*own = NULL;
}

static bool
is_change(const struct request *r)
{
	return r->route.call == ROUTE_START || r->route.call == ROUTE_STOP;
}

/* A body that says how long it is, and is too long, is refused before it comes. */
static bool
says_too_long(struct MHD_Connection *conn)
{
	const char *length = MHD_lookup_connection_value(conn, MHD_HEADER_KIND, "Content-Length");
	uint64_t bytes;
	struct err ignored;

	return length != NULL && number_uint(length, 0, WISH_BYTES_MAX, &bytes, &ignored) != 0;
}

static bool
has_token(const struct web *x, struct MHD_Connection *conn)
{
	return token_counts(x->c.token_file, MHD_lookup_connection_value(conn, MHD_HEADER_KIND, "Authorization"));
}

/* Does the request name another host, although the server listens on this host's own addresses
 * alone?  A browser of this host sends such a request for a page of somebody else, whose name
 * was made to lead here (DNS rebinding). */
static bool
is_for_another(const struct web *x, struct MHD_Connection *conn)
{
	return x->c.addr[0] == 127 &&
	       !host_is_local(MHD_lookup_connection_value(conn, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST));
}

static enum MHD_Result
refuse(struct MHD_Connection *conn, unsigned status, enum err_kind kind, const char *why)
{
	struct err e;

	err_set(&e, kind, "%s", why);
	return answer_error(conn, status, &e);
}

/* The first look at a request, when its headers are there.  Who may not do this is told so
 * before anything of the body is taken. */
static enum MHD_Result
begin(struct web *x, struct MHD_Connection *conn, const char *url, const char *method,
    struct request **own)
{
	struct request *r = calloc(1, sizeof *r);

	if (r == NULL)
		return MHD_NO;
	*own = r;
	r->conn = conn;
	route_find(method, url, &r->route);
	if (strcmp(method, MHD_HTTP_METHOD_HEAD) == 0)
		route_find(MHD_HTTP_METHOD_GET, url, &r->route);
	r->authorised = (is_change(r) || r->route.call == ROUTE_TOKEN) && has_token(x, conn);
	if (is_for_another(x, conn))
		return refuse(conn, MHD_HTTP_MISDIRECTED_REQUEST, ERR_REFUSED,
		    "this server is asked for as localhost or by an address, and by no other "
		    "name");
	if (says_too_long(conn))
		return refuse(conn, MHD_HTTP_CONTENT_TOO_LARGE, ERR_USAGE, "the body is larger than any call's");
	if (is_change(r) && r->authorised)
		r->body = malloc(WISH_BYTES_MAX);
	return MHD_YES;
}

/* False: more has come than any call has. */
static bool
take_body(struct request *r, const char *data, size_t n)
{
	if (n > WISH_BYTES_MAX - r->n)
		return false;
	if (r->body != NULL)
		memcpy(r->body + r->n, data, n);
	r->n += n;
	return true;
}

/* A NUL would hide the rest of a path. */
static size_t
unescape(void *arg, struct MHD_Connection *conn, char *text)
{
	char *at = text;
	(void)arg;
	(void)conn;

	while ((at = strstr(at, "%00")) != NULL)
		at[2] = '1';
	return MHD_http_unescape(text);
}

/* Has it nothing to wait for any more? */
static bool
is_said(const struct web *x, const struct request *r)
{
	return r->asks ? r->said != NULL || r->why[0] != '\0' : images_are_said(x->c.images, r->question);
}

/* Does it need what mfrisbeed knows? */
static bool
needs_to_ask(const struct web *x, const struct request *r)
{
	enum route_call call = r->route.call;

	if (call == ROUTE_SESSION || (call == ROUTE_STOP && r->authorised))
		return swapdb_lacks_members(x->c.state, r->route.id);
	return call == ROUTE_IMAGES || (call == ROUTE_START && r->authorised);
}

/* Does it have to wait until mfrisbeed has said something?  libmicrohttpd asks again then. */
static bool
waits(struct web *x, struct request *r)
{
	if (r->asks || r->question != 0 || !needs_to_ask(x, r))
		return false;
	r->asks = r->route.call == ROUTE_SESSION || r->route.call == ROUTE_STOP;
	if (!r->asks)
		r->question = x->c.ask_images(x->c.arg);
	if (is_said(x, r))
		return false;
	r->until_us = x->c.now(x->c.arg).us + SAYS_US;
	r->next = x->waiting;
	x->waiting = r;
	MHD_suspend_connection(r->conn);
	if (r->asks)
		x->c.ask(x->c.arg);
	return true;
}

uint32_t
web_members_wanted(const struct web *x)
{
	const struct request *r = x->waiting;

	while (r != NULL && (!r->asks || is_said(x, r)))
		r = r->next;
	return r != NULL ? r->route.id : 0;
}

static void
no_members(struct request *r, const char *why)
{
	snprintf(r->why, sizeof r->why, "mfrisbeed does not say what has become of the nodes: %s", why);
}

void
web_members(struct web *x, uint32_t session, struct jtree *said, const char *why)
{
	for (struct request *r = x->waiting; r != NULL; r = r->next) {
		if (!r->asks || is_said(x, r) || (session != 0 && r->route.id != session))
			continue;
		if (why != NULL)
			no_members(r, why);
		else
			r->said = said;
		said = NULL;
		if (why == NULL)
			break; /* another one asks again */
	}
	jtree_free(said);
}

/* Goes on with the requests that have nothing to wait for any more. */
static void
go_on(struct web *x, bool all)
{
	struct swap_now now = x->c.now(x->c.arg);

	for (struct request **at = &x->waiting, *r; (r = *at) != NULL;) {
		bool late = now.us >= r->until_us && !is_said(x, r);
		if (late && r->asks)
			no_members(r, "it does not answer");
		else if (late)
			images_take(x->c.images, 0, NULL, "it does not answer");
		if (all || is_said(x, r)) {
			*at = r->next;
			MHD_resume_connection(r->conn);
		} else {
			at = &r->next;
		}
	}
}

static enum MHD_Result
on_request(void *arg, struct MHD_Connection *conn, const char *url, const char *method,
    const char *version, const char *data, size_t *bytes, void **own)
{
	struct web *x = arg;
	(void)version;

	if (*own == NULL)
		return begin(x, conn, url, method, (struct request **)own);
	struct request *r = *own;
	if (*bytes > 0) {
		if (!take_body(r, data, *bytes))
			return MHD_NO;
		*bytes = 0;
		return MHD_YES;
	}
	if (r->route.call == ROUTE_EVENTS) {
		callers_heard(x->callers, conn, true);
		return events_begin(x->events, conn);
	}
	/* The token may have been withdrawn while the body came. */
	r->authorised = r->authorised && has_token(x, conn);
	return waits(x, r) ? MHD_YES : answer_request(x, r);
}

static void
on_ready(void *arg, uint32_t events)
{
	struct web *x = arg;
	(void)events;

	MHD_run(x->daemon);
}

static int
begin_daemon(struct web *x, struct err *e)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(x->c.port) };
	char host[INET_ADDRSTRLEN], text[sizeof host + 6];

	memcpy(&at.sin_addr, x->c.addr, 4);
	x->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_PEDANTIC_CHECKS,
	    0, NULL, NULL, on_request, x, MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&at,
	    MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX,
	    MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADERS_BYTES_MAX,
	    MHD_OPTION_NOTIFY_COMPLETED, on_completed, x, MHD_OPTION_NOTIFY_CONNECTION,
	    on_connection, x, MHD_OPTION_UNESCAPE_CALLBACK, unescape, NULL, MHD_OPTION_END);
	if (x->daemon != NULL)
		return 0;
	inet_ntop(AF_INET, &at.sin_addr, host, sizeof host);
	snprintf(text, sizeof text, "%s:%u", host, x->c.port);
	if (taken_say(e, text) != 0 && e->os == EADDRINUSE)
		return err_add(e, "--listen=ADDR:PORT chooses another address");
	return err_ctx(e, "the web server");
}

static int
begin_all(struct web *x, struct err *e)
{
	if (callers_new(&x->callers, x->loop, e) != 0 ||
	    events_new(&x->events, x, e) != 0 || begin_daemon(x, e) != 0)
		return -1;
	const union MHD_DaemonInfo *port = MHD_get_daemon_info(x->daemon, MHD_DAEMON_INFO_BIND_PORT);
	x->port = port != NULL ? port->port : 0;
	const union MHD_DaemonInfo *fd = MHD_get_daemon_info(x->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	x->watch.fd = fd != NULL ? fcntl(fd->epoll_fd, F_DUPFD_CLOEXEC, 0) : -1;
	return x->watch.fd >= 0 ? loop_watch(x->loop, &x->watch, EPOLLIN, e)
	                        : err_os(e, "the web server");
}

int
web_open(struct web **out, struct loop *loop, const struct web_config *c, struct err *e)
{
	struct web *x = calloc(1, sizeof *x);

	*out = NULL;
	if (x == NULL)
		return err_nomem(e, "the web server");
	x->c = *c;
	x->loop = loop;
	x->watch = (struct watch){ -1, on_ready, x, 0 };
	if (begin_all(x, e) != 0) {
		web_close(x);
		return -1;
	}
	*out = x;
	return 0;
}

void
web_close(struct web *x)
{
	if (x == NULL)
		return;
	events_free(x->events);
	go_on(x, true);
	loop_forget(x->loop, &x->watch);
	if (x->daemon != NULL)
		MHD_stop_daemon(x->daemon);
	callers_free(x->callers);
	free(x);
}

uint16_t
web_port(const struct web *x)
{
	return x->port;
}

void
web_tick(struct web *x)
{
	struct swap_now now = x->c.now(x->c.arg);

	events_tick(x->events, now);
	go_on(x, false);
	MHD_run(x->daemon);
}

void
web_renew(struct web *x)
{
	events_renew(x->events);
}

int
web_wait_ms(const struct web *x, int most)
{
	MHD_UNSIGNED_LONG_LONG ms;

	if (MHD_get_timeout(x->daemon, &ms) != MHD_YES || ms > (MHD_UNSIGNED_LONG_LONG)most)
		return most;
	return (int)ms;
}
