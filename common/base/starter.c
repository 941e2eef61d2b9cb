/* starter.c: starts a program for a server that may not (starter.h).  mfrisbeed's
 * main.c and sessions.c call this, in the program's first thread; serve() is the whole
 * of the starter's process, which has one thread. */
#include "common/base/starter.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/beside.h"
#include "common/base/clock.h"
#include "common/base/lock.h"
#include "common/base/loop.h"
#include "common/base/process.h"

enum {
	PATIENCE_US = 10000000, /* frisbeed ends within 3 s, unless its disk hangs */
	LOCK_STEP_MS = 100,     /* between two looks at a lock that another starter has */
};
enum { BEGIN, END };

/* A question; the words of BEGIN follow, each with its NUL. */
struct question {
	uint32_t what, id;
};

struct starter {
	struct process process;
	int sock;
};

/* One that was started, as the starter sees it. */
struct one {
	struct starting *of;
	struct watch watch; /* fd -1: it does not run */
	struct process process;
	uint64_t kill_us; /* UINT64_MAX: it was not told to end */
};

struct starting {
	struct loop loop;
	struct watch sock;
	struct deadline late; /* those that do not end */
	const char *program;
	int lock;
	bool over;
	struct one of_id[STARTER_IDS];
};

static void
tell(struct starting *x, const struct starter_news *n)
{
	/* When the server is gone, on_question() learns it. */
	(void)!send(x->sock.fd, n, sizeof *n, MSG_NOSIGNAL);
}

static void
on_end(void *arg, uint32_t events)
{
	struct one *o = arg;
	struct starter_news n = { .id = (uint32_t)(o - o->of->of_id),
		.pid = o->process.pid,
		.ended = true };
	char why[PROCESS_WHY_BYTES];
	(void)events;

	process_wait(&o->process, PROCESS_FOREVER);
	process_failed(&o->process, why);
	snprintf(n.why, sizeof n.why, "%s", why);
	n.killed = o->process.status == -1 || WIFSIGNALED(o->process.status);
	n.status = n.killed ? 0 : WEXITSTATUS(o->process.status);
	loop_forget(&o->of->loop, &o->watch);
	o->kill_us = UINT64_MAX;
	tell(o->of, &n);
}

/* Cuts the words apart.  False: they are not whole, or too many. */
static bool
cut(char *words, size_t n, const char *argv[STARTER_WORDS_MAX + 2])
{
	int k = 1;

	if (n > 0 && words[n - 1] != '\0')
		return false;
	for (size_t at = 0; at < n; at += strlen(words + at) + 1) {
		if (k > STARTER_WORDS_MAX)
			return false;
		argv[k++] = words + at;
	}
	argv[k] = NULL;
	return true;
}

static int
start(struct starting *x, struct one *o, const char *const argv[], struct err *e)
{
	/* It shares the lock, so the next starter waits for its end even when this one is killed. */
	const struct process_files files = { x->lock, -1, STDERR_FILENO };

	if (process_start(&o->process, argv, files, true, e) != 0)
		return -1;
	o->watch = (struct watch){ o->process.fd, on_end, o, 0 };
	if (loop_watch(&x->loop, &o->watch, EPOLLIN, e) == 0)
		return 0;
	process_end(&o->process, 0);
	loop_forget(&x->loop, &o->watch);
	return -1;
}

static void
begin(struct starting *x, struct one *o, char *words, size_t n)
{
	struct starter_news news = { .id = (uint32_t)(o - x->of_id) };
	const char *argv[STARTER_WORDS_MAX + 2] = { x->program };
	struct err e = { .text = "that is no command line" };

	if (cut(words, n, argv) && start(x, o, argv, &e) == 0) {
		news.pid = o->process.pid;
	} else {
		news.ended = true;
		news.status = 1;
		snprintf(news.why, sizeof news.why, "%.*s", STARTER_WHY_BYTES - 1,
		    e.text);
	}
	tell(x, &news);
}

static void
on_question(void *arg, uint32_t events)
{
	char bytes[STARTER_BYTES_MAX];
	struct starting *x = arg;
	struct question q;
	(void)events;

	ssize_t n = recv(x->sock.fd, bytes, sizeof bytes, MSG_DONTWAIT);
	if (n < (ssize_t)sizeof q) {
		x->over = n >= 0 || (errno != EAGAIN && errno != EINTR);
		return;
	}
	memcpy(&q, bytes, sizeof q);
	if (q.id >= STARTER_IDS)
		return;
	struct one *o = &x->of_id[q.id];
	if (q.what == BEGIN && o->watch.fd < 0) {
		begin(x, o, bytes + sizeof q, (size_t)n - sizeof q);
	} else if (q.what == END && o->watch.fd >= 0 && o->kill_us == UINT64_MAX) {
		process_signal(&o->process, SIGTERM);
		o->kill_us = clock_us() + PATIENCE_US;
	}
}

static uint64_t
when_late(void *arg)
{
	const struct starting *x = arg;
	uint64_t first = UINT64_MAX;

	for (unsigned i = 0; i < STARTER_IDS; i++)
		if (x->of_id[i].kill_us < first)
			first = x->of_id[i].kill_us;
	return first;
}

static void
kill_late(void *arg, uint64_t now_us)
{
	struct starting *x = arg;

	for (unsigned i = 0; i < STARTER_IDS; i++)
		if (x->of_id[i].kill_us <= now_us) {
			process_signal(&x->of_id[i].process, SIGKILL);
			x->of_id[i].kill_us = UINT64_MAX - 1; /* it was told enough */
		}
}

static void
kill_all(struct starting *x)
{
	for (unsigned i = 0; i < STARTER_IDS; i++)
		if (x->of_id[i].watch.fd >= 0)
			process_signal(&x->of_id[i].process, SIGKILL);
	for (unsigned i = 0; i < STARTER_IDS; i++)
		if (x->of_id[i].watch.fd >= 0)
			process_wait(&x->of_id[i].process, PROCESS_FOREVER);
}

/* Waits until the starter of an earlier server has ended, and all that it has started.  Returns the
 * lock; -1: there is none, or the own server has ended meanwhile. */
static int
take_lock(const char *path, int sock)
{
	struct pollfd server = { .fd = sock }; /* no event is asked for but its end */
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600), got;

	if (fd < 0)
		return -1;
	while ((got = lock_try(fd, false)) == 0 && poll(&server, 1, LOCK_STEP_MS) <= 0)
		;
	return got == 1 ? fd : -1;
}

/* The signals of a terminal, or of whoever ends all processes of a service, are for
 * the server. */
static void
leave_signals(void)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
}

static int
serve(struct starting *x, int sock, const char *program, const char *lock)
{
	struct err e;

	leave_signals();
	prctl(PR_SET_NAME, "starter");
	x->program = program;
	x->sock = (struct watch){ sock, on_question, x, 0 };
	x->late = (struct deadline){ .when = when_late, .due = kill_late, .arg = x };
	for (unsigned i = 0; i < STARTER_IDS; i++)
		x->of_id[i] = (struct one){
			.of = x, .watch.fd = -1, .kill_us = UINT64_MAX
		};
	if ((x->lock = take_lock(lock, sock)) < 0 || loop_open(&x->loop, &e) != 0 ||
	    loop_watch(&x->loop, &x->sock, EPOLLIN, &e) != 0)
		return 1;
	loop_expect(&x->loop, &x->late);
	while (!x->over)
		loop_once(&x->loop, -1);
	kill_all(x);
	return 0;
}

/* What the starter's process does. */
static _Noreturn void
be_starter(int sock, const char *program, const char *lock)
{
	static struct starting all;
	char path[PATH_MAX];
	bool near = beside_find(path, sizeof path, program);

	/* What others wait for the end of, such as the sockets of another starter. */
	if (sock > STDERR_FILENO + 1)
		close_range(STDERR_FILENO + 1, (unsigned)sock - 1, 0);
	close_range((unsigned)sock + 1, UINT_MAX, 0);
	_exit(serve(&all, sock, near ? path : program, lock));
}

int
starter_new(struct starter **out, const char *program, const char *lock, struct err *e)
{
	struct starter *s = calloc(1, sizeof *s);
	int pair[2];

	*out = NULL;
	if (s == NULL)
		return err_nomem(e, "the starter");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
		free(s);
		return err_os(e, "the starter");
	}
	pid_t pid = fork();
	if (pid == 0) {
		close(pair[0]);
		be_starter(pair[1], program, lock);
	}
	close(pair[1]);
	s->sock = pair[0];
	int rc = pid < 0 ? err_os(e, "the starter") : process_watch(&s->process, pid, e);
	if (rc == 0) {
		*out = s;
		return 0;
	}
	close(s->sock);
	free(s);
	return -1;
}

void
starter_leave(struct starter *s)
{
	if (s == NULL)
		return;
	close(s->sock);
	process_forget(&s->process);
	free(s);
}

void
starter_free(struct starter *s)
{
	if (s == NULL)
		return;
	close(s->sock);
	process_wait(&s->process, PROCESS_FOREVER);
	process_forget(&s->process);
	free(s);
}

pid_t
starter_pid(const struct starter *s)
{
	return s->process.pid;
}

int
starter_fd(const struct starter *s)
{
	return s->sock;
}

static int
ask(struct starter *s, const void *bytes, size_t n, struct err *e)
{
	if (send(s->sock, bytes, n, MSG_NOSIGNAL) == (ssize_t)n)
		return 0;
	return err_os(e, "the process that starts programs");
}

int
starter_begin(struct starter *s, uint32_t id, const char *const words[], struct err *e)
{
	const struct question q = { BEGIN, id };
	char bytes[STARTER_BYTES_MAX];
	size_t at = sizeof q;

	memcpy(bytes, &q, sizeof q);
	for (int i = 0; words[i] != NULL; i++) {
		size_t n = strlen(words[i]) + 1;
		if (i >= STARTER_WORDS_MAX || n > sizeof bytes - at)
			return err_set(e, ERR_USAGE, "the command line is too long");
		memcpy(bytes + at, words[i], n);
		at += n;
	}
	return ask(s, bytes, at, e);
}

void
starter_end(struct starter *s, uint32_t id)
{
	const struct question q = { END, id };
	struct err ignored; /* what cannot be told has ended with the starter */

	(void)ask(s, &q, sizeof q, &ignored);
}

int
starter_take(struct starter *s, struct starter_news *n)
{
	ssize_t got = recv(s->sock, n, sizeof *n, MSG_DONTWAIT);

	if (got == (ssize_t)sizeof *n)
		return 1;
	return got < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}
