/* border.c: listens, accepts, and closes what has no place or no time (border.h).  The servers of
 * this suite call this, each in the thread that has the loop. */
#include "common/net/border.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/openfiles.h"
#include "common/net/accepting.h"

enum {
	BACKLOG = 1024,
	ACCEPTS = 16, /* in one turn, before those who were accepted are heard */
};

static const uint8_t nobody[4];

struct border {
	struct border_config config;
	struct loop *loop;
	struct watch listener;
	struct accepting accepting;
	bool rests; /* the listener is left alone (accepting.h) */
	uint16_t port;
	struct guests *guests;
	struct caller *first;
	struct deadline deadline;
};

/* --- the connections --- */

static void
on_ready(void *arg, uint32_t events)
{
	struct caller *c = arg;

	c->of->config.ready(c->of->config.arg, c, events);
}

static struct caller *
new_caller(struct border *b, int fd, uint32_t events, struct err *e)
{
	struct caller *c = calloc(1, b->config.caller_bytes);

	if (c == NULL) {
		close(fd);
		(void)err_nomem(e, "a connection");
		return NULL;
	}
	c->of = b;
	c->watch = (struct watch){ fd, on_ready, c, 0 };
	if (loop_watch(b->loop, &c->watch, events, e) != 0) {
		loop_forget(b->loop, &c->watch);
		free(c);
		return NULL;
	}
	c->next = b->first;
	if (b->first != NULL)
		b->first->before = c;
	b->first = c;
	return c;
}

struct caller *
border_add(struct border *b, int fd, uint32_t events, struct err *e)
{
	return new_caller(b, fd, events, e);
}

void
border_known(struct caller *c)
{
	guests_go(c->of->guests, &c->guest);
}

void
border_hang_up(struct caller *c)
{
	struct border *b = c->of;

	border_known(c);
	if (b->config.gone != NULL)
		b->config.gone(b->config.arg, c);
	*(c->before != NULL ? &c->before->next : &b->first) = c->next;
	if (c->next != NULL)
		c->next->before = c->before;
	loop_forget(b->loop, &c->watch);
	free(c);
}

void
border_heard(struct caller *c, uint64_t us)
{
	guests_heard(c->of->guests, &c->guest, clock_us(), us);
}

void
border_want(struct caller *c, uint32_t events)
{
	loop_change(c->of->loop, &c->watch, events);
}

struct caller *
border_first(struct border *b)
{
	return b->first;
}

bool
border_may_log(struct border *b)
{
	return guests_may_log(b->guests, clock_us());
}

/* The connection of this guest, which is its first member. */
static struct caller *
caller_of(struct guest *x)
{
	return (struct caller *)x;
}

static void
send_away(struct border *b, struct guest *x)
{
	guests_count(b->guests, x->from);
	border_hang_up(caller_of(x));
}

/* --- those who come --- */

static void
make_room(struct border *b, const uint8_t from[4])
{
	struct guest *way;

	guests_places(b->guests, openfiles_half(b->config.limits.most));
	while ((way = guests_gives_way(b->guests, from)) != NULL)
		send_away(b, way);
}

static void
let_in(struct border *b, int fd, const uint8_t from[4])
{
	struct err ignored;

	make_room(b, from);
	struct caller *c = new_caller(b, fd, EPOLLIN, &ignored);
	if (c == NULL)
		return;
	memcpy(c->from, from, sizeof c->from);
	if (!guests_come(b->guests, &c->guest, from, clock_us()) ||
	    (b->config.came != NULL && !b->config.came(b->config.arg, c)))
		border_hang_up(c);
}

/* Who is on the other side: an address, or the number of a user.  A user whom the kernel does not
 * name is nobody, whose number no user has. */
static void
who_calls(int fd, const struct sockaddr_storage *a, uint8_t from[4])
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)a;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)a;
	struct ucred user = { .uid = (uid_t)-1 };
	socklen_t len = sizeof user;

	if (a->ss_family == AF_UNIX)
		(void)getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &user, &len);
	if (a->ss_family == AF_UNIX)
		memcpy(from, &user.uid, 4);
	else if (a->ss_family == AF_INET)
		memcpy(from, &v4->sin_addr, 4);
	else
		for (int i = 0; i < 4; i++)
			from[i] = v6->sin6_addr.s6_addr[i] ^ v6->sin6_addr.s6_addr[i + 4];
}

static void
on_listener(void *arg, uint32_t events)
{
	struct border *b = arg;
	uint8_t from[4];
	(void)events;

	for (unsigned i = 0; i < ACCEPTS; i++) {
		struct sockaddr_storage a = { 0 };
		socklen_t len = sizeof a;
		int fd = accepting_next(&b->accepting, &a, &len);
		if (fd < 0)
			break;
		who_calls(fd, &a, from);
		let_in(b, fd, from);
	}
	if (accepting_fd(&b->accepting) >= 0)
		return;
	/* No descriptor is left, perhaps because there may be fewer of them now. */
	make_room(b, nobody);
	b->rests = true;
	loop_change(b->loop, &b->listener, 0);
}

/* --- times --- */

static uint64_t
when(void *arg)
{
	const struct border *b = arg;
	uint64_t at = guests_deadline(b->guests);

	return b->rests && b->accepting.rests_until_us < at ? b->accepting.rests_until_us : at;
}

static void
due(void *arg, uint64_t now_us)
{
	struct border *b = arg;
	char text[GUESTS_TEXT_MAX];
	struct guest *x;

	if (b->rests && accepting_fd(&b->accepting) >= 0) {
		b->rests = false;
		loop_change(b->loop, &b->listener, EPOLLIN);
	}
	while ((x = guests_late(b->guests, now_us)) != NULL)
		if (b->config.late == NULL || !b->config.late(b->config.arg, caller_of(x)))
			send_away(b, x);
	if (guests_say(b->guests, now_us, text) && b->config.what != NULL)
		log_warn("%s: %s", b->config.what, text);
}

static int
listen_there(struct border *b, struct err *e)
{
	const struct border_config *c = &b->config;

	if (c->path != NULL && c->listener > 0) {
		b->accepting.listener = c->listener;
		return 0;
	}
	if (c->path != NULL)
		return accepting_path(&b->accepting, c->path, e);
	if (c->at != NULL)
		return accepting_at(&b->accepting, c->at->ai_addr, c->at->ai_addrlen, e);
	return accepting_port(&b->accepting, c->address, &b->port, c->any, e);
}

int
border_open(
    struct border **out, struct loop *loop, const struct border_config *config, struct err *e)
{
	struct border *b = calloc(1, sizeof *b);

	*out = NULL;
	if (b == NULL)
		return err_nomem(e, "connections");
	b->config = *config;
	b->loop = loop;
	b->port = config->port;
	b->listener = (struct watch){ -1, on_listener, b, 0 };
	b->deadline = (struct deadline){ .when = when, .due = due, .arg = b };
	int rc = guests_new(&b->guests, &config->limits, e);
	if (rc == 0)
		rc = listen_there(b, e);
	if (rc == 0)
		b->listener.fd = b->accepting.listener;
	if (rc == 0)
		rc = loop_watch(loop, &b->listener, EPOLLIN, e);
	if (rc == 0)
		loop_expect(loop, &b->deadline);
	if (rc == 0)
		*out = b;
	else
		border_close(b);
	return rc;
}

void
border_close(struct border *b)
{
	if (b == NULL)
		return;
	while (b->first != NULL)
		border_hang_up(b->first);
	if (b->config.path != NULL && b->listener.fd >= 0)
		unlink(b->config.path);
	loop_cancel(b->loop, &b->deadline);
	loop_forget(b->loop, &b->listener);
	guests_free(b->guests);
	free(b);
}

uint16_t
border_port(const struct border *b)
{
	return b->port;
}
