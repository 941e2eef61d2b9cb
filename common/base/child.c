/* child.c: runs another program beside this one.  stream/attach, common/resize and dsync
 * call this, each in one thread; a thread for each child reads what the program prints.
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
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/process.h"

enum {
	LINE_BYTES = 400,
	READS = (64 << 10) / LINE_BYTES + 1, /* for all that a pipe holds */
	ANSWER_BYTES = 64 << 10, /* of one read */
	ENDING_US = 3 * 1000000, /* from SIGTERM to SIGKILL */
	READY_US = 10 * 1000, /* between two looks whether it is ready */
	ASK_US = 100 * 1000, /* between two looks whether the work is still wanted */
};

/* What is read of one of the two streams that a program prints to. */
struct stream {
	int fd; /* -1: it has ended, or is not read here */
	size_t n;
	char line[LINE_BYTES]; /* n bytes of the line that has begun */
	char last[LINE_BYTES]; /* the last whole line that says something; guarded by the
	                        * child's lock */
	bool begun; /* a line that does not begin with a blank has come */
};

struct child {
	const char *name; /* argv[0], borrowed */
	struct process process;
	int to, from; /* our ends of its pipes; -1: none */
	pthread_t reader;
	bool reads; /* the reader has not been joined */
	struct stream streams[2]; /* by enum child_stream */
	pthread_mutex_t lock; /* guards the next two */
	child_line_fn tell;
	void *tell_arg;
};

/* The sentence of "nbdkit: ndz.3: error: sentence": all before it are names. */
static const char *
without_names(const char *line)
{
	static const char word[] = "error: ";
	const char *at = line;

	while (strncmp(at, word, sizeof word - 1) != 0) {
		size_t n = strcspn(at, " ");
		if (n == 0 || at[n] == '\0' || at[n - 1] != ':')
			return line;
		at += n + 1;
	}
	return at + sizeof word - 1;
}

/* Lines of continuation begin with a blank, but so do all lines of lvm(8).  And dmsetup(8)
 * ends each failure with the words "Command failed", after the line that says why. */
static bool
says_nothing(struct stream *s, const char *line, bool blank)
{
	static const char words[] = "Command failed";

	s->begun = s->begun || (!blank && line[0] != '\0');
	return line[0] == '\0' || (blank && s->begun) ||
	       strncmp(line, words, sizeof words - 1) == 0;
}

/* Take the line that has been read. */
static void
take_line(struct child *c, enum child_stream which)
{
	struct stream *s = &c->streams[which];

	s->line[s->n] = '\0';
	s->line[strcspn(s->line, "\r")] = '\0';
	s->n = 0;
	const char *line = s->line + strspn(s->line, " \t");
	bool blank = line > s->line;
	if (says_nothing(s, line, blank))
		return;
	line = without_names(line);
	pthread_mutex_lock(&c->lock);
	snprintf(s->last, sizeof s->last, "%s", line);
	child_line_fn tell = c->tell;
	void *tell_arg = c->tell_arg;
	pthread_mutex_unlock(&c->lock);
	if (tell != NULL && !blank)
		tell(tell_arg, which, line);
}

static void
close_if(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Read what there is, and take the lines in it; close the stream at its end. */
static void
read_some(struct child *c, enum child_stream which)
{
	struct stream *s = &c->streams[which];
	char buf[LINE_BYTES];
	ssize_t n = 1;

	for (int reads = 0; reads < READS && (n = read(s->fd, buf, sizeof buf)) > 0; reads++)
		for (ssize_t i = 0; i < n; i++) {
			if (buf[i] != '\n')
				s->line[s->n++] = buf[i];
			if (buf[i] == '\n' || s->n == sizeof s->line - 1)
				take_line(c, which);
		}
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		close_if(&s->fd);
}

/* Read until both streams end.  A program without pipes may be a script, and what that
 * has started is waited for by this, too.  Of one with pipes only its own end counts: ssh
 * may leave a process with its standard error, for the next connections. */
static void *
read_lines(void *arg)
{
	struct child *c = arg;
	int end = c->process.own_group ? -1 : c->process.fd;
	bool ended = false;

	while (!ended && (c->streams[0].fd >= 0 || c->streams[1].fd >= 0)) {
		struct pollfd p[] = { { c->streams[0].fd, POLLIN, 0 },
			{ c->streams[1].fd, POLLIN, 0 }, { end, POLLIN, 0 } };
		if (poll(p, 3, -1) < 0)
			continue;
		ended = p[2].revents != 0;
		for (int i = 0; i < 2; i++)
			if (p[i].fd >= 0 && (ended || p[i].revents != 0))
				read_some(c, (enum child_stream)i);
	}
	take_line(c, CHILD_OUTPUT);
	take_line(c, CHILD_ERRORS);
	return NULL;
}

static int
make_pipe(int *out, int *in, struct err *e)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) != 0)
		return err_os(e, "a pipe");
	*out = fds[0];
	*in = fds[1];
	return 0;
}

static int
read_streams(struct child *c, struct err *e)
{
	for (int i = 0; i < 2; i++)
		if (c->streams[i].fd >= 0)
			fcntl(c->streams[i].fd, F_SETFL, O_NONBLOCK);
	errno = pthread_create(&c->reader, NULL, read_lines, c);
	c->reads = errno == 0;
	if (c->reads)
		return 0;
	err_os(e, "%s: a thread for what it prints", c->name);
	process_end(&c->process, 0);
	return -1;
}

static int
begin(struct child *c, const char *const argv[], unsigned pipes, struct err *e)
{
	struct process_files f = { -1, -1, -1 };
	bool out = (pipes & CHILD_OUT) != 0;
	int *from = out ? &c->from : &c->streams[CHILD_OUTPUT].fd, rc = 0;

	if ((pipes & CHILD_IN) != 0)
		rc = make_pipe(&f.in, &c->to, e);
	if (rc == 0)
		rc = make_pipe(from, &f.out, e);
	if (rc == 0)
		rc = make_pipe(&c->streams[CHILD_ERRORS].fd, &f.err, e);
	if (rc == 0)
		rc = process_start(&c->process, argv, f, pipes == 0, e);
	close_if(&f.in);
	close_if(&f.out);
	close_if(&f.err);
	return rc == 0 ? read_streams(c, e) : -1;
}

/* Wait until the reader has read all that the child printed. */
static void
join(struct child *c)
{
	if (c->reads)
		pthread_join(c->reader, NULL);
	c->reads = false;
}

/* Free a child whose program has ended. */
static void
release(struct child *c)
{
	join(c);
	close_if(&c->to);
	close_if(&c->from);
	close_if(&c->streams[CHILD_OUTPUT].fd);
	close_if(&c->streams[CHILD_ERRORS].fd);
	process_forget(&c->process);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static int
start(struct child **out, const char *const argv[], unsigned pipes, child_line_fn tell,
    void *arg, struct err *e)
{
	struct child *c = malloc(sizeof *c);

	*out = NULL;
	if (c == NULL)
		return err_nomem(e, argv[0]);
	*c = (struct child){ .name = argv[0], .to = -1, .from = -1,
		.streams = { { .fd = -1 }, { .fd = -1 } }, .tell = tell, .tell_arg = arg };
	pthread_mutex_init(&c->lock, NULL);
	if (begin(c, argv, pipes, e) != 0) {
		release(c);
		return -1;
	}
	*out = c;
	return 0;
}

int
child_start(struct child **out, const char *const argv[], unsigned pipes, struct err *e)
{
	return start(out, argv, pipes, NULL, NULL, e);
}

void
child_tell(struct child *c, child_line_fn tell, void *arg)
{
	pthread_mutex_lock(&c->lock);
	c->tell = tell;
	c->tell_arg = arg;
	pthread_mutex_unlock(&c->lock);
}

int
child_to(const struct child *c)
{
	return c->to;
}

int
child_from(const struct child *c)
{
	return c->from;
}

bool
child_runs_for(struct child *c, uint64_t us)
{
	return !process_wait(&c->process, us);
}

bool
child_runs(struct child *c)
{
	return child_runs_for(c, 0);
}

/* The message of a program of this suite begins with its own name, which is not
 * repeated. */
int
child_result(struct child *c, struct err *e)
{
	const char *said = c->streams[CHILD_ERRORS].last;
	size_t n = strlen(c->name);
	char why[PROCESS_WHY_BYTES];

	join(c);
	if (!process_failed(&c->process, why))
		return 0;
	if (said[0] == '\0')
		said = c->streams[CHILD_OUTPUT].last;
	if (!WIFEXITED(c->process.status))
		return err_set(e, ERR_IO, "%s: %s", c->name, why);
	if (said[0] == '\0')
		return err_set(e, ERR_IO, "%s: %s, and did not say why", c->name, why);
	if (strncmp(said, c->name, n) == 0 && said[n] == ':')
		return err_set(e, ERR_IO, "%s", said);
	return err_set(e, ERR_IO, "%s: %s", c->name, said);
}

static bool
has_something(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && st.st_size > 0;
}

int
child_ready(struct child *c, const char *path, uint64_t most_us, struct err *e)
{
	return child_ready_when(c, has_something, path, most_us, e);
}

int
child_ready_when(struct child *c, bool (*is_ready)(const char *path), const char *path,
    uint64_t most_us, struct err *e)
{
	uint64_t from = clock_us();

	while (!is_ready(path)) {
		if (cancel_check(e) != 0)
			return -1;
		if (!child_runs_for(c, READY_US) && child_result(c, e) != 0)
			return -1;
		if (!child_runs(c) || clock_us() - from > most_us)
			return err_set(e, ERR_IO, "%s: %s: was not written", c->name, path);
	}
	return 0;
}

void
child_kill(struct child *c)
{
	process_signal(&c->process, SIGKILL);
}

int
child_wait(struct child *c, struct err *e)
{
	if (c == NULL)
		return 0;
	close_if(&c->to);
	close_if(&c->from);
	/* What is run after the work was told to end, such as to clean up, is left
	 * alone. */
	bool told = cancel_signal() != 0;
	while (child_runs_for(c, ASK_US))
		if (!told && cancel_signal() != 0) {
			process_signal(&c->process, SIGTERM);
			told = true;
		}
	int rc = child_result(c, e);
	release(c);
	return rc;
}

int
child_end(struct child *c, uint64_t most_us, struct err *e)
{
	if (c == NULL)
		return 0;
	process_end(&c->process, most_us);
	int rc = child_result(c, e);
	release(c);
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

	if (child_start(&c, argv, 0, e) != 0)
		return -1;
	process_wait(&c->process, PROCESS_FOREVER);
	return child_end(c, 0, e);
}

int
child_run_telling(const char *const argv[], child_line_fn tell, void *arg, struct err *e)
{
	struct child *c;

	if (start(&c, argv, 0, tell, arg, e) != 0)
		return -1;
	while (cancel_signal() == 0 && child_runs_for(c, ASK_US))
		;
	bool runs = child_runs(c);
	int rc = runs ? cancel_check(e) : child_result(c, e);
	if (runs) /* a shell ends alone, and what it waits for would go on */
		process_signal_all(&c->process, SIGTERM);
	child_stop(c);
	return rc;
}

static int
read_all(int fd, const char *name, size_t most, struct buf *b, struct err *e)
{
	uint8_t piece[ANSWER_BYTES];
	ssize_t n;

	while ((n = read(fd, piece, sizeof piece)) != 0) {
		if (n < 0 && errno == EINTR && cancel_signal() == 0)
			continue;
		if (n < 0)
			return err_os(e, "%s", name);
		if ((size_t)n > most - b->len)
			return err_set(e, ERR_FORMAT, "%s: prints too much", name);
		buf_bytes(b, piece, (size_t)n);
	}
	buf_bytes(b, "", 1);
	return buf_ok(b) ? 0 : err_nomem(e, name);
}

int
child_read_answer(int fd, const char *name, size_t most, char **out, struct err *e)
{
	struct buf b = { 0 };
	int rc = read_all(fd, name, most, &b, e);

	if (rc != 0)
		buf_free(&b);
	*out = (char *)b.base;
	return rc;
}

int
child_answer(const char *const argv[], size_t most, char **out, struct err *e)
{
	struct child *c;
	struct err late;

	*out = NULL;
	if (child_start(&c, argv, CHILD_OUT, e) != 0)
		return -1;
	int rc = child_read_answer(c->from, argv[0], most, out, e);
	if (rc != 0)
		child_kill(c);
	if (child_wait(c, &late) == 0 || rc != 0)
		return rc;
	free(*out);
	*out = NULL;
	*e = late;
	return -1;
}
