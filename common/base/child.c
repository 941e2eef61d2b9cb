/* child.c: runs another program beside this one.  stream/attach and common/resize call
 * this, each in one thread; a thread for each child reads what the program prints.
 * Programs that write to a pipe keep progress back until they end, so it would come
 * behind the error that was printed before: standard output and standard error are read
 * apart. */
#include "common/base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/spawn.h"

enum {
	LINE_BYTES = 400,
	ENDING_US = 3 * 1000000, /* from SIGTERM to SIGKILL */
	LOOK_MS = 10, /* between two looks whether it runs */
	ASK_US = 100 * 1000, /* between two looks whether the work is still wanted */
};

/* What is read of one of the two streams that a program prints to. */
struct stream {
	int fd; /* -1: it has ended */
	size_t n;
	char line[LINE_BYTES]; /* n bytes of the line that has begun */
	char last[LINE_BYTES]; /* the last whole line; guarded by the child's lock */
};

struct child {
	const char *name; /* argv[0], borrowed */
	pid_t pid;
	bool ended;
	int status; /* as waitpid(2) has it, when `ended` */
	pthread_t reader;
	bool reads; /* the reader has not been joined */
	struct stream streams[2]; /* by enum child_stream */
	pthread_mutex_t lock; /* guards the next two */
	child_line_fn tell;
	void *tell_arg;
};

/* The sentence of "nbdkit: ndz.3: error: sentence". */
static const char *
without_names(const char *line)
{
	const char *error = strstr(line, "error: ");

	return error != NULL ? error + strlen("error: ") : line;
}

/* Take the line that has been read. */
static void
take_line(struct child *c, enum child_stream which)
{
	struct stream *s = &c->streams[which];

	s->line[s->n] = '\0';
	s->n = 0;
	if (s->line[0] == '\0' || s->line[0] == ' ' || s->line[0] == '\t')
		return; /* a line of continuation is left out */
	pthread_mutex_lock(&c->lock);
	snprintf(s->last, sizeof s->last, "%s", without_names(s->line));
	child_line_fn tell = c->tell;
	void *tell_arg = c->tell_arg;
	pthread_mutex_unlock(&c->lock);
	if (tell != NULL)
		tell(tell_arg, which, without_names(s->line));
}

/* Read what there is, and take the lines in it.  Returns false at the end. */
static bool
read_some(struct child *c, enum child_stream which)
{
	struct stream *s = &c->streams[which];
	char buf[LINE_BYTES];
	ssize_t n = read(s->fd, buf, sizeof buf);

	for (ssize_t i = 0; i < n; i++) {
		if (buf[i] != '\n')
			s->line[s->n++] = buf[i];
		if (buf[i] == '\n' || s->n == sizeof s->line - 1)
			take_line(c, which);
	}
	if (n > 0 || (n < 0 && errno == EINTR))
		return true;
	take_line(c, which);
	return false;
}

static void *
read_lines(void *arg)
{
	struct child *c = arg;
	struct pollfd p[2];

	while (c->streams[0].fd >= 0 || c->streams[1].fd >= 0) {
		for (int i = 0; i < 2; i++)
			p[i] = (struct pollfd){ .fd = c->streams[i].fd,
				.events = POLLIN };
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			break;
		for (int i = 0; i < 2; i++)
			if (p[i].revents != 0 && !read_some(c, (enum child_stream)i)) {
				close(c->streams[i].fd);
				c->streams[i].fd = -1;
			}
	}
	return NULL;
}

static void
close_streams(struct child *c)
{
	for (int i = 0; i < 2; i++)
		if (c->streams[i].fd >= 0)
			close(c->streams[i].fd);
}

/* Make the pipes that the program prints to; to[] are its ends of them. */
static int
make_pipes(struct child *c, int to[2], struct err *e)
{
	int fds[2];

	for (int i = 0; i < 2; i++) {
		if (pipe2(fds, O_CLOEXEC) != 0) {
			err_os(e, "a pipe");
			if (i == 1)
				close(to[0]);
			return -1;
		}
		c->streams[i].fd = fds[0];
		to[i] = fds[1];
	}
	return 0;
}

static int
begin(struct child *c, const char *const argv[], struct err *e)
{
	int to[2], rc = make_pipes(c, to, e);

	if (rc == 0) {
		rc = spawn_program(
		    &c->pid, argv, (struct spawn_files){ -1, to[0], to[1] }, true, e);
		close(to[0]);
		close(to[1]);
	}
	if (rc == 0 && (errno = pthread_create(&c->reader, NULL, read_lines, c)) != 0) {
		spawn_undo(c->pid);
		rc = err_os(e, "%s: a thread for what it prints", argv[0]);
	}
	c->reads = rc == 0;
	if (rc != 0)
		close_streams(c);
	return rc;
}

static int
start(struct child **out, const char *const argv[], child_line_fn tell, void *arg,
    struct err *e)
{
	struct child *c = calloc(1, sizeof *c);

	if (c == NULL)
		return err_nomem(e, argv[0]);
	pthread_mutex_init(&c->lock, NULL);
	c->name = argv[0];
	c->streams[CHILD_OUTPUT].fd = c->streams[CHILD_ERRORS].fd = -1;
	c->tell = tell;
	c->tell_arg = arg;
	if (begin(c, argv, e) != 0) {
		pthread_mutex_destroy(&c->lock);
		free(c);
		return -1;
	}
	*out = c;
	return 0;
}

int
child_start(struct child **out, const char *const argv[], struct err *e)
{
	return start(out, argv, NULL, NULL, e);
}

void
child_tell(struct child *c, child_line_fn tell, void *arg)
{
	pthread_mutex_lock(&c->lock);
	c->tell = tell;
	c->tell_arg = arg;
	pthread_mutex_unlock(&c->lock);
}

bool
child_runs(struct child *c)
{
	if (!c->ended && waitpid(c->pid, &c->status, WNOHANG) == c->pid)
		c->ended = true;
	return !c->ended;
}

/* Wait until the reader has read all that the child printed. */
static void
join(struct child *c)
{
	if (!c->reads)
		return;
	pthread_join(c->reader, NULL);
	close_streams(c);
	c->reads = false;
}

int
child_result(struct child *c, struct err *e)
{
	join(c);
	if (WIFEXITED(c->status) && WEXITSTATUS(c->status) == 0)
		return 0;
	if (WIFSIGNALED(c->status))
		return err_set(e, ERR_IO, "%s: was ended by signal %d", c->name,
		    WTERMSIG(c->status));
	const char *why = c->streams[CHILD_ERRORS].last;
	if (why[0] == '\0')
		why = c->streams[CHILD_OUTPUT].last;
	if (why[0] == '\0')
		why = "failed, and did not say why";
	bool named = strncmp(why, c->name, strlen(c->name)) == 0;
	return err_set(e, ERR_IO, "%s%s%s", named ? "" : c->name, named ? "" : ": ", why);
}

static void
wait_for(struct child *c, uint64_t us)
{
	uint64_t until = clock_us() + us;

	while (child_runs(c) && clock_us() < until)
		nanosleep(&(struct timespec){ 0, LOOK_MS * 1000000 }, NULL);
}

int
child_end(struct child *c, uint64_t most_us, struct err *e)
{
	if (c == NULL)
		return 0;
	if (child_runs(c)) {
		kill(c->pid, SIGTERM);
		wait_for(c, most_us);
	}
	if (child_runs(c)) {
		kill(c->pid, SIGKILL);
		waitpid(c->pid, &c->status, 0);
		c->ended = true;
	}
	int rc = child_result(c, e);
	pthread_mutex_destroy(&c->lock);
	free(c);
	return rc;
}

void
child_stop(struct child *c)
{
	struct err ignored;

	child_end(c, ENDING_US, &ignored);
}

int
child_run(const char *const argv[], struct err *e)
{
	struct child *c;

	if (child_start(&c, argv, e) != 0)
		return -1;
	while (child_runs(c))
		wait_for(c, ENDING_US);
	int rc = child_result(c, e);
	child_stop(c);
	return rc;
}

int
child_run_telling(const char *const argv[], child_line_fn tell, void *arg, struct err *e)
{
	struct child *c;

	if (start(&c, argv, tell, arg, e) != 0)
		return -1;
	while (child_runs(c) && cancel_signal() == 0)
		wait_for(c, ASK_US);
	int rc = child_runs(c) ? cancel_check(e) : child_result(c, e);
	child_stop(c);
	return rc;
}
