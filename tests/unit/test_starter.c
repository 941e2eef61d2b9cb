/* A starter: it starts its program under a number, tells when that has ended and how, ends it when it
 * is told to, starts nothing else, and kills all that it has started when the server ends.  The next
 * one begins when it has ended. */
#include "common/base/starter.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "tests/unit/scratch.h"

enum { LIMIT_MS = 60000 };

static struct err e;

static struct starter *
make(const char *program)
{
	struct starter *s = NULL;

	T_CHECK(starter_new(&s, program, in_scratch("lock"), &e) == 0);
	return s;
}

static struct starter_news
next(struct starter *s)
{
	struct pollfd p = { .fd = starter_fd(s), .events = POLLIN };
	struct starter_news n = { .id = UINT32_MAX };

	T_CHECK(poll(&p, 1, LIMIT_MS) == 1);
	T_CHECK(starter_take(s, &n) == 1);
	return n;
}

static bool
runs(pid_t pid)
{
	return kill(pid, 0) == 0;
}

static void
test_ends(void)
{
	static const char *const three[] = { "-c", "exit 3", NULL },
				 *const waits[] = { "-c", "exec sleep 600", NULL };
	struct starter *s = make("/bin/sh");
	struct starter_news n;

	T_CHECK(starter_take(s, &n) == 0);
	T_CHECK(starter_begin(s, 7, three, &e) == 0);
	n = next(s);
	T_CHECK(n.id == 7 && n.pid > 0 && !n.ended);
	n = next(s);
	T_CHECK(n.id == 7 && n.ended && !n.killed && n.status == 3);
	T_CHECK(strcmp(n.why, "ended with status 3") == 0);
	T_CHECK(starter_begin(s, 7, waits, &e) == 0);
	n = next(s);
	T_CHECK(runs(n.pid));
	starter_end(s, 7);
	n = next(s);
	T_CHECK(n.id == 7 && n.ended && n.killed);
	starter_free(s);
}

/* The number of one that runs is not given to another, and all end with the server. */
static void
test_all_end(void)
{
	static const char *const waits[] = { "-c", "trap '' TERM; while :; do sleep 600; done",
		NULL };
	struct starter *s = make("/bin/sh");
	pid_t first, last;

	T_CHECK(starter_begin(s, 0, waits, &e) == 0);
	first = next(s).pid;
	T_CHECK(starter_begin(s, 0, waits, &e) == 0);
	T_CHECK(starter_begin(s, STARTER_IDS - 1, waits, &e) == 0);
	struct starter_news n = next(s);
	T_CHECK(n.id == STARTER_IDS - 1);
	last = n.pid;
	T_CHECK(runs(first) && runs(last) && first != last);
	starter_free(s);
	T_CHECK(!runs(first) && !runs(last) && errno == ESRCH);
}

static void
test_refused(void)
{
	static const char *const none[] = { NULL };
	const char *many[STARTER_WORDS_MAX + 2] = { NULL };
	static char text[STARTER_BYTES_MAX + 1];
	const char *const longer[] = { text, NULL };
	struct starter *s = make("/nonexistent/program");

	T_CHECK(starter_begin(s, 1, none, &e) == 0);
	struct starter_news n = next(s);
	T_CHECK(n.id == 1 && n.pid == 0 && n.ended && n.status != 0);
	T_CHECK(strstr(n.why, "/nonexistent/program is not installed") != NULL);
	for (int i = 0; i <= STARTER_WORDS_MAX; i++)
		many[i] = "x";
	T_CHECK(starter_begin(s, 1, many, &e) == -1 && e.kind == ERR_USAGE);
	memset(text, 'x', STARTER_BYTES_MAX);
	T_CHECK(starter_begin(s, 1, longer, &e) == -1 && e.kind == ERR_USAGE);
	starter_free(s);
}

/* Of two servers of one lock, the second's starter waits for the first's end. */
static void
test_next_waits(void)
{
	static const char *const waits[] = { "-c", "exec sleep 600", NULL };
	struct starter *first = make("/bin/sh"), *second;
	struct starter_news n;

	T_CHECK(starter_begin(first, 1, waits, &e) == 0);
	pid_t old = next(first).pid;
	second = make("/bin/sh");
	T_CHECK(starter_begin(second, 1, waits, &e) == 0);
	struct pollfd p = { .fd = starter_fd(second), .events = POLLIN };
	T_CHECK(poll(&p, 1, 100) == 0); /* it is no limit: a slow machine only finds less */
	starter_free(first);
	n = next(second);
	T_CHECK(n.pid > 0 && !runs(old));
	starter_free(second);
}

/* One that waits for another's end ends with its own server: nobody else would end it. */
static void
test_ends_while_it_waits(void)
{
	static const char *const waits[] = { "-c", "exec sleep 600", NULL };
	struct starter *first = make("/bin/sh"), *second;

	T_CHECK(starter_begin(first, 1, waits, &e) == 0);
	pid_t old = next(first).pid;
	second = make("/bin/sh");
	alarm(LIMIT_MS / 1000);
	starter_free(second);
	alarm(0);
	T_CHECK(runs(old));
	starter_free(first);
}

/* The starter itself is killed: the server learns it, and the next starter waits for the end of what it
 * has left. */
static void
test_gone(void)
{
	static const char *const parent[] = { "-c", "kill -9 $PPID", NULL },
				 *const waits[] = { "-c", "exec sleep 600", NULL },
				 *const at_once[] = { "-c", "exit 0", NULL };
	struct starter *s = make("/bin/sh"), *second;
	struct starter_news n;
	int rc = 1;

	T_CHECK(starter_begin(s, 0, waits, &e) == 0);
	pid_t left = next(s).pid;
	T_CHECK(starter_begin(s, 1, parent, &e) == 0);
	for (int i = 0; i < 3 && rc == 1; i++) {
		struct pollfd p = { .fd = starter_fd(s), .events = POLLIN };
		T_CHECK(poll(&p, 1, LIMIT_MS) == 1);
		rc = starter_take(s, &n);
	}
	T_CHECK(rc == -1);
	T_CHECK(starter_begin(s, 2, parent, &e) == -1 && e.kind == ERR_IO);
	starter_free(s);
	T_CHECK(runs(left));
	second = make("/bin/sh");
	T_CHECK(starter_begin(second, 1, at_once, &e) == 0);
	struct pollfd p = { .fd = starter_fd(second), .events = POLLIN };
	T_CHECK(poll(&p, 1, 100) == 0); /* it is no limit: a slow machine only finds less */
	T_CHECK(kill(left, SIGKILL) == 0);
	T_CHECK(next(second).pid > 0);
	starter_free(second);
}

int
main(void)
{
	scratch_init();
	test_ends();
	test_all_end();
	test_refused();
	test_next_waits();
	test_ends_while_it_waits();
	test_gone();
	return t_done();
}
