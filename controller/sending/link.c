/* link.c: the connection to mfrisbeed (link.h), and the mfrisbeed that has no other user than this
 * controller.  servers.c calls this, in the program's first thread.
 *
 * That mfrisbeed is in a group of processes of its own, and goes on without a controller, so that a
 * controller that is killed ends nobody's load. */
#include "controller/sending/link.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/limiter.h"
#include "common/base/log.h"
#include "common/base/process.h"
#include "common/base/retry.h"
#include "mfrisbeed/master/local.h"

/* SILENT_US: requests are answered at once, unless mfrisbeed hangs.  LINE_BYTES_MAX: the nodes of one
 * session have some 10 MB. */
enum { STATUS_USAGE = 2, STATUS_DAMAGED = 3, WHY_BYTES = 300, LINE_BYTES_MAX = 64 << 20, SILENT_US = 10000000, LOST_US = 60000000, READ_BYTES = 65536 };

struct link {
	struct loop *loop;
	struct link_config c;
	struct sockaddr_un at;
	struct watch watch; /* of the connection; fd -1: there is none */
	pid_t master;       /* who listens */
	enum { GREETS, ASKS_TO_WATCH, WAITS_FOR_LIST, IDLE, ASKS } does;
	bool changes; /* ASKS: the list */
	uint64_t since_us;  /* when it has begun to do that */
	struct buf in;
	struct retry retry;
	struct deadline due; /* a try, or an answer */
	bool was_lost, answered; /* answered: by the one that was started last */
	struct limiter lost, ended; /* lines about that, and about the end of the one that was started */
	struct process started;
	uint64_t started_us;
	struct watch end; /* of it */
	int said;         /* its standard output: why it has failed */
};

/* It runs, and can be signalled as long as its connection is there. */
static void
signal_master(const struct link *l, int number)
{
	if (l->c.start == NULL)
		return;
	if (l->watch.fd >= 0 && l->does > GREETS && l->master > 0)
		kill(l->master, number);
	else if (l->started.pid != 0)
		process_signal(&l->started, number);
}

static void
try_later(struct link *l)
{
	l->retry.seconds = INT_MAX; /* without end */
	(void)retry_again(&l->retry, UINT_MAX, 0, clock_us());
}

static void
hang_up(struct link *l, const char *why)
{
	unsigned ignored;

	loop_forget(l->loop, &l->watch);
	buf_free(&l->in);
	try_later(l);
	if (limiter_may(&l->lost, clock_us(), LOST_US, 1, &ignored))
		log_warn("mfrisbeed at %s: %s; it is asked again", l->c.socket, why);
	l->was_lost = true;
	l->c.lost(l->c.arg, why);
}

static void
say(struct link *l, const char *text)
{
	char line[LOCAL_LINE_BYTES];
	int n = snprintf(line, sizeof line, "%s\n", text);

	l->since_us = clock_us();
	/* It takes all that one request is, or does not read. */
	if (n >= (int)sizeof line || send(l->watch.fd, line, (size_t)n, MSG_NOSIGNAL) != n)
		shutdown(l->watch.fd, SHUT_RDWR); /* on_ready() hangs up */
}

/* What follows on an answer of yes, which is taken over. */
static void
go_on(struct link *l, struct jtree *said)
{
	if (l->does == ASKS) {
		l->does = l->changes ? WAITS_FOR_LIST : IDLE;
		l->c.answered(l->c.arg, said, NULL);
		return;
	}
	jtree_free(said);
	if (l->does == GREETS) {
		l->does = ASKS_TO_WATCH;
		say(l, "watch");
		signal_master(l, SIGHUP); /* its configuration may be another than at its start */
		return;
	}
	l->does = WAITS_FOR_LIST;
}

static void
take_answer(struct link *l, struct jtree *j)
{
	const char *text = jtree_text(jtree_get(j, "error"));
	char why[300];

	snprintf(why, sizeof why, "%s", text != NULL ? text : "it was refused");
	if (jtree_true(jtree_get(j, "ok"))) {
		go_on(l, j);
		return;
	}
	jtree_free(j);
	if (l->does == ASKS) {
		l->does = IDLE;
		l->c.answered(l->c.arg, NULL, why);
	} else {
		hang_up(l, why);
	}
}

static void
take_list(struct link *l, struct jtree *j)
{
	if (l->does == WAITS_FOR_LIST)
		l->does = IDLE;
	if (l->was_lost)
		log_info("mfrisbeed answers pid=%d", (int)l->master);
	l->was_lost = false;
	l->answered = true;
	l->lost = (struct limiter){ 0 };
	l->retry = (struct retry){ 0 };
	l->c.listed(l->c.arg, j);
}

/* False: the connection is gone. */
static bool
take_line(struct link *l, const char *line, size_t n)
{
	struct jtree *j;
	struct err e;

	if (jtree_read(&j, line, n, &e) != 0) {
		hang_up(l, e.text);
		return false;
	}
	if (jtree_is(jtree_get(j, "sessions")) == JTREE_ARRAY)
		take_list(l, j);
	else
		take_answer(l, j);
	return l->watch.fd >= 0;
}

static void
take_lines(struct link *l)
{
	char *newline;

	while (l->in.len > 0 && (newline = memchr(l->in.base, '\n', l->in.len)) != NULL) {
		size_t n = (size_t)((uint8_t *)newline - l->in.base);
		if (!take_line(l, (const char *)l->in.base, n))
			return;
		l->in.len -= n + 1;
		memmove(l->in.base, newline + 1, l->in.len);
	}
	if (l->in.len > LINE_BYTES_MAX || !buf_ok(&l->in))
		hang_up(l, "its answer is too long");
}

static void
on_ready(void *arg, uint32_t events)
{
	struct link *l = arg;
	char bytes[READ_BYTES];
	ssize_t n = recv(l->watch.fd, bytes, sizeof bytes, MSG_DONTWAIT);
	(void)events;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		hang_up(l, "it has hung up");
		return;
	}
	buf_bytes(&l->in, bytes, (size_t)n);
	take_lines(l);
}

/* Returns whether somebody listens there; errno. */
static bool
call(struct link *l)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct ucred user = { .pid = 0 };
	socklen_t len = sizeof user;
	struct err e;

	if (fd >= 0 && connect(fd, (const struct sockaddr *)&l->at, sizeof l->at) == 0) {
		getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &user, &len);
		l->master = user.pid;
		l->watch = (struct watch){ fd, on_ready, l, 0 };
		if (loop_watch(l->loop, &l->watch, EPOLLIN, &e) == 0)
			return true;
		loop_forget(l->loop, &l->watch);
		errno = e.os;
		return false;
	}
	int why = errno;
	if (fd >= 0)
		close(fd);
	errno = why;
	return false;
}

/* It was to be started, and does not answer. */
static void
give_up(struct link *l, const char *why, bool for_good)
{
	try_later(l);
	l->c.unable(l->c.arg, why, for_good);
}

/* Why the one that was started here has ended: its own sentence, or how it ended. */
static void
read_why(struct link *l, char why[WHY_BYTES])
{
	char text[4096], how[PROCESS_WHY_BYTES];
	ssize_t n = pread(l->said, text, sizeof text, 0);
	struct jtree *j = NULL;
	struct err ignored;

	(void)process_failed(&l->started, how);
	const char *error =
	    n > 0 && jtree_read(&j, text, (size_t)n, &ignored) == 0 ? jtree_text(jtree_get(j, "error")) : NULL;
	snprintf(why, WHY_BYTES, "%s", error != NULL ? error : how);
	jtree_free(j);
}

/* Will another one end in the same way, because its command line or a file that it reads is wrong? */
static bool
is_hopeless(int status)
{
	return WIFEXITED(status) && (WEXITSTATUS(status) == STATUS_USAGE || WEXITSTATUS(status) == STATUS_DAMAGED);
}

static void
forget_started(struct link *l)
{
	loop_forget(l->loop, &l->end);
	l->started = (struct process){ 0 };
	if (l->said >= 0)
		close(l->said);
	l->said = -1;
}

/* The one that was started here has ended. */
static void
on_end(void *arg, uint32_t events)
{
	struct link *l = arg;
	char why[WHY_BYTES];
	unsigned ignored;
	(void)events;

	process_wait(&l->started, PROCESS_FOREVER);
	read_why(l, why);
	int status = l->started.status;
	if (limiter_may(&l->ended, clock_us(), LOST_US, 1, &ignored))
		log_warn("mfrisbeed has ended pid=%d: %s", (int)l->started.pid, why);
	forget_started(l);
	if (l->watch.fd < 0 && l->answered)
		hang_up(l, why);
	else if (l->watch.fd < 0)
		give_up(l, why, is_hopeless(status));
}

static int
start(struct link *l, struct err *e)
{
	/* No pipe: it goes on without a controller. */
	l->said = memfd_create("mfrisbeed", MFD_CLOEXEC);
	const struct process_files files = { -1, l->said, STDERR_FILENO };

	l->answered = false;
	if (process_start(&l->started, l->c.start, files, true, e) != 0) {
		forget_started(l);
		return -1;
	}
	log_debug("mfrisbeed started pid=%d", (int)l->started.pid);
	l->started_us = clock_us();
	l->end = (struct watch){ l->started.fd, on_end, l, 0 };
	if (loop_watch(l->loop, &l->end, EPOLLIN, e) == 0)
		return 0;
	process_end(&l->started, 0);
	forget_started(l);
	return -1;
}

/* Nobody listens: starts who will, if that is to be. */
static void
begin_master(struct link *l, int why)
{
	struct err e;
	bool own = l->c.start != NULL && (why == ENOENT || why == ECONNREFUSED);

	if (!own) {
		hang_up(l, strerror(why));
	} else if (l->started.pid != 0 && clock_us() > l->started_us + SILENT_US) {
		hang_up(l, "it was started, and does not listen");
	} else if (l->started.pid != 0 || start(l, &e) == 0) {
		try_later(l);
	} else {
		log_warn("mfrisbeed cannot be started: %s", e.text);
		give_up(l, e.text, false);
	}
}

static uint64_t
when(void *arg)
{
	const struct link *l = arg;

	if (l->watch.fd < 0)
		return l->retry.due_us;
	return l->does == IDLE ? UINT64_MAX : l->since_us + SILENT_US;
}

static void
on_due(void *arg, uint64_t now_us)
{
	struct link *l = arg;
	char words[32];
	(void)now_us;

	if (l->watch.fd >= 0) {
		hang_up(l, "it does not answer");
	} else if (call(l)) {
		l->does = GREETS;
		snprintf(words, sizeof words, "version %d", LOCAL_VERSION);
		say(l, words);
	} else {
		begin_master(l, errno);
	}
}

void
link_hurry(struct link *l)
{
	if (l->watch.fd < 0)
		l->retry = (struct retry){ 0 };
}

bool
link_is_idle(const struct link *l)
{
	return l->watch.fd >= 0 && l->does == IDLE;
}

void
link_ask(struct link *l, const char *words, bool changes)
{
	l->does = ASKS;
	l->changes = changes;
	say(l, words);
}

int
link_open(struct link **out, struct loop *loop, const struct link_config *c, struct err *e)
{
	struct link *l = calloc(1, sizeof *l);

	*out = l;
	if (l == NULL)
		return err_nomem(e, "the connection to mfrisbeed");
	*l = (struct link){ .loop = loop, .c = *c, .at.sun_family = AF_UNIX, .watch.fd = -1,
		.end.fd = -1, .said = -1 };
	if (strlen(c->socket) >= sizeof l->at.sun_path)
		return err_set(e, ERR_USAGE, "%.200s: the path is too long for a socket", c->socket);
	strcpy(l->at.sun_path, c->socket);
	l->due = (struct deadline){ .when = when, .due = on_due, .arg = l };
	loop_expect(loop, &l->due);
	return 0;
}

void
link_close(struct link *l, bool end_it)
{
	if (l == NULL)
		return;
	if (end_it)
		signal_master(l, SIGTERM);
	loop_cancel(l->loop, &l->due);
	loop_forget(l->loop, &l->watch);
	forget_started(l);
	buf_free(&l->in);
	free(l);
}
