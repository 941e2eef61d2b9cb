/* callers.c: who may keep a connection to the web server, and for how long, as
 * guests.h says it of all servers.  A request has to be complete, and its answer
 * taken, within LIMIT_US, however slowly its bytes come.  web.c calls this, in the
 * program's first thread. */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/openfiles.h"
#include "controller/http/web_impl.h"

/* A request has a few hundred bytes, so one that is not complete after LIMIT_US was
 * meant to occupy a connection. */
enum { SHARE = 200, LIMIT_US = 30000000 };

struct http_caller {
	struct guest guest;
	int fd; /* libmicrohttpd's */
};

struct callers {
	struct loop *loop;
	struct guests *guests;
	struct deadline deadline;
};

/* libmicrohttpd closes the connection when it sees its end. */
static void
send_away(struct callers *s, struct guest *x)
{
	guests_count(s->guests, x->from);
	guests_go(s->guests, x);
	shutdown(((struct http_caller *)x)->fd, SHUT_RDWR);
}

static uint64_t
when(void *arg)
{
	const struct callers *s = arg;

	return guests_deadline(s->guests);
}

static void
due(void *arg, uint64_t now_us)
{
	struct callers *s = arg;
	char text[GUESTS_TEXT_MAX];
	struct guest *x;

	while ((x = guests_late(s->guests, now_us)) != NULL)
		send_away(s, x);
	if (guests_say(s->guests, now_us, text))
		log_warn("the web server: %s", text);
}

int
callers_new(struct callers **out, struct loop *loop, struct err *e)
{
	const struct guests_limits limits = { CALLERS_MAX, SHARE, LIMIT_US };
	struct callers *s = calloc(1, sizeof *s);

	*out = s;
	if (s == NULL)
		return err_nomem(e, "connections");
	s->loop = loop;
	s->deadline = (struct deadline){ .when = when, .due = due, .arg = s };
	if (guests_new(&s->guests, &limits, e) != 0)
		return -1;
	loop_expect(loop, &s->deadline);
	return 0;
}

void
callers_free(struct callers *s)
{
	if (s == NULL)
		return;
	loop_cancel(s->loop, &s->deadline);
	guests_free(s->guests);
	free(s);
}

static const union MHD_ConnectionInfo *
info(struct MHD_Connection *conn, enum MHD_ConnectionInfoType what)
{
	static const union MHD_ConnectionInfo nothing;
	const union MHD_ConnectionInfo *found = MHD_get_connection_info(conn, what);

	return found != NULL ? found : &nothing;
}

static struct http_caller *
caller_of(struct MHD_Connection *conn)
{
	static struct http_caller nobody; /* there was no memory for it */
	void *x = info(conn, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;

	return x != NULL ? x : &nobody;
}

const uint8_t *
callers_address(struct MHD_Connection *conn)
{
	return caller_of(conn)->guest.from;
}

struct http_caller *
callers_come(struct callers *s, struct MHD_Connection *conn)
{
	int fd = info(conn, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	const struct sockaddr *addr =
	    info(conn, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
	struct http_caller *x = calloc(1, sizeof *x);
	struct sockaddr_in at = { 0 };
	uint8_t from[4];
	struct guest *way;

	if (addr != NULL && addr->sa_family == AF_INET)
		memcpy(&at, addr, sizeof at);
	memcpy(from, &at.sin_addr, sizeof from);
	guests_places(s->guests, openfiles_half(CALLERS_MAX));
	while ((way = guests_gives_way(s->guests, from)) != NULL)
		send_away(s, way);
	if (x != NULL)
		x->fd = fd;
	if (x == NULL || !guests_come(s->guests, &x->guest, from, clock_us()))
		shutdown(fd, SHUT_RDWR);
	return x;
}

void
callers_heard(struct callers *s, struct MHD_Connection *conn, bool endless)
{
	guests_heard(s->guests, &caller_of(conn)->guest, clock_us(),
	    endless ? UINT64_MAX : LIMIT_US);
}

void
callers_go(struct callers *s, struct http_caller *x)
{
	if (x != NULL)
		guests_go(s->guests, &x->guest);
	free(x);
}
