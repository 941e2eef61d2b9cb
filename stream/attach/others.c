/* others.c: the connections of other machines that read the image (others.h).
 * attach.c calls this, in streamdisk's one thread; a thread of this file has the
 * connections.
 *
 *	other machines -- TCP -- borders -- two ends each -- Unix socket -- nbdkit
 *
 * An nbdkit has as many connections as come, each with a thread, and waits for each
 * without end.  So it hears of nobody who has not begun to speak NBD: the server's first
 * words, which are always the same, are said here, and those of nbdkit are dropped. */
#include "stream/attach/others.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/args.h"
#include "common/base/cancel.h"
#include "common/base/hostport.h"
#include "common/net/accepting.h"
#include "common/net/border.h"

enum {
	NBD_PORT = 10809,
	PLACES = 64, /* one reader has a few connections */
	ADDRESSES = 4, /* that a name may have */
	/* The server's first words, and a client's flags and first option, which are there
	 * within this time (the NBD protocol, "fixed newstyle negotiation"). */
	GREETING_BYTES = 18,
	FLAGS_BYTES = 4,
	FLAGS_MAX = 3,
	MAGIC_BYTES = 8,
	FIRST_BYTES = 20,
	FIRST_US = 5000000,
	/* A machine that takes nothing for this time is gone. */
	SILENT_MS = 60000,
	ROOM = 65536,
	PATH_BYTES = 150,
};

/* One of the two ends of a connection: the other machine's, or nbdkit's. */
struct end {
	struct caller caller;
	struct end *other;
	bool ended; /* nothing more comes from here */
	size_t greeting; /* bytes that are still to come of it; it was said before */
	size_t n, off; /* what has come from here, and is not sent to the other end */
	uint8_t bytes[ROOM];
};

struct others {
	struct sockaddr_un server;
	char pid[PATH_BYTES];
	struct child *nbdkit;
	struct loop loop;
	struct border *borders[ADDRESSES];
	pthread_t thread;
	bool runs; /* the thread does */
	atomic_bool ends;
};

/* Connections. */

/* Magic, magic, and the flags "fixed newstyle" and "no zeroes". */
static const uint8_t greeting[GREETING_BYTES] = "NBDMAGICIHAVEOPT\0\3";

/* Drops what has come of the greeting.  False: it is another one than the client was told. */
static bool
drop_greeting(struct end *from)
{
	size_t n = from->greeting < from->n ? from->greeting : from->n;

	if (memcmp(from->bytes, greeting + GREETING_BYTES - from->greeting, n) != 0)
		return false;
	from->greeting -= n;
	from->n -= n;
	from->off = from->n > 0 ? n : 0;
	return true;
}

static bool
receive(struct end *from, struct end *to)
{
	ssize_t n = recv(from->caller.watch.fd, from->bytes, sizeof from->bytes, 0);

	if (n < 0)
		return errno == EAGAIN;
	from->ended = n == 0;
	from->n = (size_t)n;
	if (!drop_greeting(from))
		return false;
	return !from->ended || shutdown(to->caller.watch.fd, SHUT_WR) == 0;
}

/* Takes what comes from one end to the other one.  False: one of them is gone. */
static bool
pass(struct end *from, struct end *to)
{
	if (from->n == 0 && !from->ended && !receive(from, to))
		return false;
	if (from->n == 0)
		return true;
	const uint8_t *at = from->bytes + from->off;
	ssize_t n = send(to->caller.watch.fd, at, from->n, MSG_NOSIGNAL);
	if (n < 0)
		return errno == EAGAIN;
	from->n -= (size_t)n;
	from->off = from->n > 0 ? from->off + (size_t)n : 0;
	return true;
}

static void
want(struct end *x)
{
	border_want(&x->caller, (x->n == 0 && !x->ended ? EPOLLIN : 0) |
	                            (x->other->n > 0 ? EPOLLOUT : 0));
}

/* Is nothing more to be passed on?  Where one side has closed its connection, what the
 * other one does not take at once is lost: it has no use for it. */
static bool
is_over(const struct end *x, uint32_t events)
{
	bool closed = (events & (EPOLLHUP | EPOLLERR)) != 0;

	return x->ended ? closed || x->other->ended : closed && x->n > 0;
}

/* Connects to nbdkit, and waits while its queue is full, which it soon empties. */
static int
dial(const struct sockaddr_un *at)
{
	const struct timeval most = { .tv_sec = 1 };
	int on = 1, fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most) == 0 &&
	    connect(fd, (const struct sockaddr *)at, sizeof *at) == 0 &&
	    ioctl(fd, FIONBIO, &on) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Are these a client's flags, and the beginning of an option? */
static bool
speaks_nbd(const uint8_t *first)
{
	const uint8_t *magic = greeting + MAGIC_BYTES;

	return memcmp(first, "\0\0", FLAGS_BYTES - 1) == 0 && first[FLAGS_BYTES - 1] <= FLAGS_MAX &&
	       memcmp(first + FLAGS_BYTES, magic, MAGIC_BYTES) == 0;
}

/* Whoever has begun to speak NBD gets a connection to nbdkit. */
static bool
go_on(const struct others *o, struct end *x)
{
	struct err ignored;
	int fd = speaks_nbd(x->bytes) ? dial(&o->server) : -1;

	if (fd >= 0)
		x->other = (struct end *)border_add(x->caller.of, fd, EPOLLIN, &ignored);
	if (x->other == NULL)
		return false;
	x->other->other = x;
	x->other->greeting = GREETING_BYTES;
	border_heard(&x->caller, UINT64_MAX);
	return true;
}

/* Takes a client's first words. */
static bool
listen_to(const struct others *o, struct end *x)
{
	ssize_t n = recv(x->caller.watch.fd, x->bytes + x->n, sizeof x->bytes - x->n, 0);

	if (n <= 0)
		return n < 0 && errno == EAGAIN;
	x->n += (size_t)n;
	return x->n < FIRST_BYTES || go_on(o, x);
}

static void
ready(void *arg, struct caller *c, uint32_t events)
{
	struct end *x = (struct end *)c;

	if (x->other == NULL && !listen_to(arg, x)) {
		border_hang_up(c);
		return;
	}
	if (x->other == NULL)
		return;
	if (!pass(x, x->other) || !pass(x->other, x) || is_over(x, events)) {
		border_hang_up(c);
		return;
	}
	want(x);
	want(x->other);
}

static bool
came(void *arg, struct caller *c)
{
	(void)arg;
	accepting_keep(c->watch.fd, SILENT_MS);
	return send(c->watch.fd, greeting, sizeof greeting, MSG_NOSIGNAL) == sizeof greeting;
}

/* Both ends go together. */
static void
gone(void *arg, struct caller *c)
{
	struct end *other = ((struct end *)c)->other;
	(void)arg;

	if (other == NULL)
		return;
	other->other = NULL;
	border_hang_up(&other->caller);
}

static void *
serve(void *arg)
{
	struct others *o = arg;

	while (!atomic_load(&o->ends))
		loop_once(&o->loop, -1);
	return NULL;
}

/* Starting. */

/* Does only this machine hear what is at the address? */
static bool
is_local(const struct addrinfo *a)
{
	const struct sockaddr_in *v4 = (const void *)a->ai_addr;
	const struct sockaddr_in6 *v6 = (const void *)a->ai_addr;

	return a->ai_family == AF_INET ? ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET
	                               : IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

/* Without a key anybody may read, and everybody on the way. */
static int
check_local(const char *at, const struct addrinfo *a, struct err *e)
{
	for (; a != NULL; a = a->ai_next)
		if (!is_local(a))
			return err_set(e, ERR_USAGE,
			    "%s: other machines hear this address: --export-key is needed, which "
			    "encrypts, and says who may read",
			    at);
	return 0;
}

/* The addresses of the text; the caller frees them. */
static int
find(struct addrinfo **all, const char *at, const char *key, struct err *e)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct hostport h;
	char port[8];

	if (hostport_read(&h, at, 1, NBD_PORT, e) != 0)
		return -1;
	snprintf(port, sizeof port, "%u", h.port);
	int rc = getaddrinfo(h.host, port, &hints, all);
	if (rc != 0)
		return err_set(e, ERR_IO, "%s: %s", h.host, gai_strerror(rc));
	if (key != NULL || check_local(at, *all, e) == 0)
		return 0;
	freeaddrinfo(*all);
	return -1;
}

int
others_check(const char *at, const char *key, struct err *e)
{
	struct addrinfo *all;

	if (key != NULL && access(key, R_OK) != 0)
		return err_os(e, "%s", key);
	if (find(&all, at, key, e) != 0)
		return e->kind == ERR_USAGE
		           ? -1
		           : err_ctx(e, "%s: no image can be served there", at);
	freeaddrinfo(all);
	return 0;
}

/* Listens at all addresses of the name. */
static int
listen_at(struct others *o, const struct addrinfo *all, struct err *e)
{
	struct border_config c = { .limits = { PLACES, PLACES / 2, FIRST_US },
		.caller_bytes = sizeof(struct end),
		.came = came,
		.ready = ready,
		.gone = gone,
		.arg = o };
	int rc = 0;

	for (unsigned i = 0; rc == 0 && all != NULL && i < ADDRESSES; i++) {
		c.at = all;
		rc = border_open(&o->borders[i], &o->loop, &c, e);
		all = all->ai_next;
	}
	return rc;
}

static int
open_borders(struct others *o, const char *at, const char *key, struct err *e)
{
	struct addrinfo *all;

	if (find(&all, at, key, e) != 0)
		return -1;
	int rc = listen_at(o, all, e);
	freeaddrinfo(all);
	return rc;
}

static int
start_nbdkit(struct others *o, const char *key, const char *from, struct err *e)
{
	struct args a = { 0 };

	args_add(&a, "nbdkit");
	args_add(&a, "--foreground");
	args_add(&a, "--exit-with-parent");
	args_add(&a, "--readonly");
	args_addf(&a, "--unix=%s", o->server.sun_path);
	args_addf(&a, "--pidfile=%s", o->pid);
	if (key != NULL) {
		args_add(&a, "--tls=require");
		args_addf(&a, "--tls-psk=%s", key);
	}
	args_add(&a, "nbd");
	args_addf(&a, "socket=%s", from);
	args_add(&a, "export=image");
	return args_start(&o->nbdkit, &a, o->pid, UINT64_MAX, e);
}

static int
start(struct others *o, const char *at, const char *key, const char *from, struct err *e)
{
	if (loop_open(&o->loop, e) != 0 || open_borders(o, at, key, e) != 0 ||
	    start_nbdkit(o, key, from, e) != 0)
		return -1;
	o->runs = thread_start(&o->thread, serve, o) == 0;
	return o->runs ? 0 : err_set(e, ERR_IO, "no thread can be started");
}

int
others_start(struct others **out, const char *at, const char *key, const char *from,
    const char *folder, struct err *e)
{
	struct others *o = calloc(1, sizeof *o);

	if (o == NULL)
		return err_nomem(e, "connections");
	o->server.sun_family = AF_UNIX;
	snprintf(o->server.sun_path, sizeof o->server.sun_path, "%s/others", folder);
	snprintf(o->pid, sizeof o->pid, "%s/others.pid", folder);
	if (start(o, at, key, from, e) != 0) {
		others_stop(o);
		return err_ctx(e, "%s: no image can be served there", at);
	}
	*out = o;
	return 0;
}

bool
others_run(struct others *o, struct err *why)
{
	if (child_runs(o->nbdkit))
		return true;
	if (child_result(o->nbdkit, why) == 0)
		err_set(why, ERR_IO, "nbdkit has ended");
	return false;
}

void
others_stop(struct others *o)
{
	if (o == NULL)
		return;
	atomic_store(&o->ends, true);
	if (o->runs) {
		loop_wake(&o->loop);
		pthread_join(o->thread, NULL);
	}
	for (unsigned i = 0; i < ADDRESSES; i++)
		border_close(o->borders[i]);
	loop_close(&o->loop);
	child_stop(o->nbdkit);
	unlink(o->server.sun_path);
	unlink(o->pid);
	free(o);
}
