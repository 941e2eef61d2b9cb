/* confined.c: starts a confined child, hears its messages until its verdict, and sees to
 * its end.  confined_run() may be called in any thread of the parent; confined_child.c is
 * the child's side. */
#include "common/base/confined.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/confined_impl.h"
#include "common/base/frame.h"
#include "common/base/process.h"

enum {
	LOOK_MS = 200,   /* how soon the parent notices that the work is to end */
	ENDING_US = 5000000, /* how long a child may live after it closed its pipe */
};
#define MEMORY_MAX (UINT64_C(4) << 30)

struct child {
	const struct confined_job *job;
	struct process process;
	int pipe;
	uint64_t ends_us;
	/* the first `have` bytes were received, and are not parsed yet */
	uint8_t bytes[FRAME_BYTES_MAX];
	size_t have;
	bool verdict; /* the child has told its result: rc is 0, or -1 with *e */
	int rc;
	const char *unfiltered;
};

uint64_t
confined_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), each = sysconf(_SC_PAGESIZE);

	if (pages <= 0 || each <= 0)
		return MEMORY_MAX;
	uint64_t half = (uint64_t)pages / 2 * (uint64_t)each;
	return half < MEMORY_MAX ? half : MEMORY_MAX;
}

static int
too_much_memory(const struct confined_job *j, struct err *e)
{
	return err_set(e, ERR_FORMAT, "%s would need more than %llu MiB of memory", j->who,
	    (unsigned long long)(j->memory_bytes >> 20));
}

/* Makes an error of a CONFINED_FAILED message, whose sentence is the child's own.  A child
 * that lacks memory has met its limit: ERR_NOMEM would say that this process lacks memory. */
static int
failed(const struct confined_job *j, struct rd *payload, struct err *e)
{
	enum err_kind kind = rd_u8(payload);
	size_t n = rd_left(payload);
	char text[sizeof e->text];

	if (kind == ERR_NOMEM)
		return too_much_memory(j, e);
	n = n < sizeof text ? n : sizeof text - 1;
	rd_copy(payload, text, n);
	text[n] = '\0';
	bool known = kind == ERR_IO || kind == ERR_UNSUPPORTED || kind == ERR_REFUSED;
	return err_set(e, known ? kind : ERR_FORMAT, "%s", text);
}

static void
hear_filter(struct child *c, struct rd *payload)
{
	int why = (int)rd_le32(payload);
	const char *text = strerrordesc_np(why);

	c->unfiltered = why == 0 ? NULL : text != NULL ? text : "unknown error";
}

static int
hear(struct child *c, struct frame *f, struct err *e)
{
	switch (f->kind) {
	case CONFINED_FILTER:
		hear_filter(c, &f->payload);
		return 0;
	case CONFINED_DONE:
		c->verdict = true;
		return 0;
	case CONFINED_FAILED:
		c->verdict = true;
		c->rc = failed(c->job, &f->payload, e);
		return 0;
	default:
		return c->job->heard(c->job->arg, f->kind, &f->payload, e);
	}
}

/* Hears every frame that has been received whole, and keeps the bytes behind the last one. */
static int
hear_frames(struct child *c, struct err *e)
{
	struct rd r = rd_from(c->bytes, c->have);
	struct frame f;
	int rc = 0;

	while (!c->verdict && (rc = frame_get(&r, &f)) == 1)
		if (hear(c, &f, e) != 0)
			return -1;
	if (rc < 0)
		return err_set(e, ERR_FORMAT,
		    "%s sent a message that is not understood", c->job->who);
	c->have = rd_left(&r);
	memmove(c->bytes, r.base + r.off, c->have);
	return 0;
}

/* Waits for bytes in the pipe, or its end.  Returns 0; -1 when the child's time is over, or
 * when the work is to end. */
static int
wait_for_bytes(const struct child *c, struct err *e)
{
	struct pollfd p = { .fd = c->pipe, .events = POLLIN };

	for (;;) {
		if (cancel_check(e) != 0)
			return -1;
		if (clock_us() >= c->ends_us)
			return err_set(e, ERR_FORMAT, "%s took longer than %u s",
			    c->job->who, c->job->seconds);
		if (poll(&p, 1, LOOK_MS) > 0)
			return 0;
	}
}

/* Hears the child until its verdict, or until it has closed its pipe. */
static int
listen_to(struct child *c, struct err *e)
{
	while (!c->verdict) {
		if (wait_for_bytes(c, e) != 0)
			return -1;
		ssize_t n = read(c->pipe, c->bytes + c->have, sizeof c->bytes - c->have);
		if (n < 0 && errno != EINTR)
			return err_os(e, "reading from a child process");
		if (n == 0)
			return 0;
		if (n > 0) {
			c->have += (size_t)n;
			if (hear_frames(c, e) != 0)
				return -1;
		}
	}
	return 0;
}

/* Says why there is no verdict, judging by how the child ended.  A status of -1 means that
 * its end is unknown. */
static int
no_verdict(const struct confined_job *j, int status, struct err *e)
{
	if (status == -1 || (WIFEXITED(status) && WEXITSTATUS(status) == 0))
		return err_set(e, ERR_FORMAT, "%s ended without a result", j->who);
	if (WIFEXITED(status))
		return err_set(e, ERR_FORMAT, "%s ended with status %d", j->who,
		    WEXITSTATUS(status));
	int sig = WTERMSIG(status);
	if (sig == SIGXCPU)
		return err_set(e, ERR_FORMAT, "%s took more than %u s of a processor",
		    j->who, j->seconds);
	return err_set(e, ERR_FORMAT, "%s crashed (SIG%s)", j->who, sigabbrev_np(sig));
}

/* Ends the child and returns its status, or -1 when the status cannot be had.  With
 * at_once, the child has told its result, or was stopped from telling it, and is killed.
 * Without, it has closed its pipe, which a crash does a moment before the process ends, so
 * it is given ENDING_US. */
static int
end_of(struct child *c, bool at_once)
{
	if (at_once || !process_wait(&c->process, ENDING_US))
		process_signal(&c->process, SIGKILL);
	process_wait(&c->process, PROCESS_FOREVER);
	int status = c->process.status;
	process_forget(&c->process);
	return status;
}

/* Forks with the signals blocked that end programs.  In the child they stay blocked: it is
 * to end by this process alone, and must not run this program's handlers. */
static pid_t
fork_blocked(const struct confined_job *j, const int pipe[2])
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE };
	sigset_t block, before;

	sigemptyset(&block);
	for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
		sigaddset(&block, signals[i]);
	pthread_sigmask(SIG_BLOCK, &block, &before);
	pid_t parent = getpid(), pid = fork();
	if (pid == 0) {
		close(pipe[0]);
		confined_child(j, parent, pipe[1]);
	}
	int why = errno;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = why;
	return pid;
}

static int
start(struct child *c, const struct confined_job *j, struct err *e)
{
	int pipe[2];

	if (pipe2(pipe, O_CLOEXEC) != 0)
		return err_os(e, "a pipe for %s", j->who);
	c->job = j;
	c->pipe = pipe[0];
	c->ends_us = clock_us() + j->seconds * UINT64_C(1000000);
	pid_t pid = fork_blocked(j, pipe);
	if (pid < 0)
		err_os(e, "starting %s", j->who);
	close(pipe[1]);
	if (pid >= 0 && process_watch(&c->process, pid, e) == 0)
		return 0;
	close(pipe[0]);
	return -1;
}

int
confined_run(const struct confined_job *j, const char **unfiltered, struct err *e)
{
	struct child c = { 0 };

	*unfiltered = NULL;
	if (start(&c, j, e) != 0)
		return -1;
	int rc = listen_to(&c, e);
	close(c.pipe);
	int status = end_of(&c, rc != 0 || c.verdict);
	*unfiltered = c.unfiltered;
	if (rc != 0)
		return -1;
	return c.verdict ? c.rc : no_verdict(j, status, e);
}
