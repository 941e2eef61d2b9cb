/* command.c: starts programs with pipes, and waits for their end.  Sources of change, snapshots
 * and dsync call this, each command in one thread; a thread for each command reads what the
 * program writes to standard error, or is the function that takes a program's place. */
#include "dsync/run/command.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/cancel.h"
#include "common/base/spawn.h"

enum {
	LINE_BYTES = 400,
	ANSWER_BYTES = 64 << 10, /* of one read */
	COMMAND_ERR = 4, /* a pipe from standard error, besides those of enum command_pipes */
};

/* A function that takes a program's place: its thread's until that ends. */
struct function {
	command_function *run; /* NULL: it is a program */
	void *arg;
	int in, out; /* its ends of the pipes; -1: none */
	int rc;
	struct err why;
};

struct command {
	const char *name; /* argv[0], borrowed */
	pid_t pid;
	int to, from;     /* our ends of its pipes; -1: none */
	FILE *said;       /* what it writes to standard error */
	pthread_t thread; /* reads `said`, or is the function */
	char last[LINE_BYTES]; /* last line that it wrote and that says why; the thread's until that
	                        * ends */
	struct function function;
};

/* dmsetup(8) ends each failure with these words, after the line that says why. */
static bool
says_nothing(const char *line)
{
	static const char words[] = "Command failed";

	return line[0] == '\0' || strncmp(line, words, sizeof words - 1) == 0;
}

static void *
read_lines(void *arg)
{
	struct command *c = arg;
	char line[LINE_BYTES];

	while (fgets(line, sizeof line, c->said) != NULL) {
		line[strcspn(line, "\r\n")] = '\0';
		if (!says_nothing(line))
			memcpy(c->last, line, sizeof line);
	}
	return NULL;
}

static void
close_if(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void *
run_function(void *arg)
{
	struct function *f = arg;

	f->rc = f->run(f->arg, f->in, f->out, &f->why);
	close_if(&f->in);
	close_if(&f->out);
	return NULL;
}

/* Both ends of three pipes; -1: there is none. */
struct ends {
	int in[2], out[2], err[2];
};

static void
close_ends(struct ends *p)
{
	for (unsigned i = 0; i < 2; i++) {
		close_if(&p->in[i]);
		close_if(&p->out[i]);
		close_if(&p->err[i]);
	}
}

static int
make_ends(struct ends *p, unsigned pipes, struct err *e)
{
	*p = (struct ends){ { -1, -1 }, { -1, -1 }, { -1, -1 } };
	if (((pipes & COMMAND_IN) != 0 && pipe2(p->in, O_CLOEXEC) != 0) ||
	    ((pipes & COMMAND_OUT) != 0 && pipe2(p->out, O_CLOEXEC) != 0) ||
	    ((pipes & COMMAND_ERR) != 0 && pipe2(p->err, O_CLOEXEC) != 0)) {
		err_os(e, "a pipe");
		close_ends(p);
		return -1;
	}
	return 0;
}

/* The program stays in the process group, so it receives the terminal's signals by itself, as
 * ssh must. */
static int
begin(struct command *c, const char *const argv[], struct ends *p, struct err *e)
{
	const struct spawn_files files = { p->in[0], p->out[1], p->err[1] };

	c->said = fdopen(p->err[0], "r");
	if (c->said == NULL)
		return err_nomem(e, argv[0]);
	p->err[0] = -1;
	int rc = spawn_program(&c->pid, argv, files, false, e);
	if (rc == 0 && (errno = pthread_create(&c->thread, NULL, read_lines, c)) != 0) {
		spawn_undo(c->pid);
		rc = err_os(e, "%s: a thread for what it writes", argv[0]);
	}
	if (rc != 0) {
		fclose(c->said);
		return -1;
	}
	return 0;
}

static int
begin_function(struct command *c, struct ends *p, struct err *e)
{
	c->function.in = p->in[0];
	c->function.out = p->out[1];
	errno = thread_start(&c->thread, run_function, &c->function);
	if (errno != 0)
		return err_os(e, "a thread");
	p->in[0] = p->out[1] = -1;
	return 0;
}

/* Start the program, or the function without argv, and free *c on failure. */
static int
start(struct command *c, const char *const argv[], unsigned pipes, struct err *e)
{
	struct ends p;

	if (make_ends(&p, pipes, e) != 0) {
		free(c);
		return -1;
	}
	int rc = argv != NULL ? begin(c, argv, &p, e) : begin_function(c, &p, e);
	c->to = p.in[1];
	c->from = p.out[0];
	if (rc == 0)
		p.in[1] = p.out[0] = -1;
	close_ends(&p);
	if (rc != 0)
		free(c);
	return rc;
}

int
command_start(struct command **out, const char *const argv[], unsigned pipes, struct err *e)
{
	struct command *c = calloc(1, sizeof *c);

	*out = NULL;
	if (c == NULL)
		return err_nomem(e, argv[0]);
	c->name = argv[0];
	if (start(c, argv, pipes | COMMAND_ERR, e) != 0)
		return -1;
	*out = c;
	return 0;
}

int
command_start_function(struct command **out, command_function *run, void *arg, unsigned pipes,
    struct err *e)
{
	struct command *c = calloc(1, sizeof *c);

	*out = NULL;
	if (c == NULL)
		return err_nomem(e, "a thread");
	c->name = "a thread";
	c->function = (struct function){ .run = run, .arg = arg };
	if (start(c, NULL, pipes, e) != 0)
		return -1;
	*out = c;
	return 0;
}

int
command_to(const struct command *c)
{
	return c->to;
}

int
command_from(const struct command *c)
{
	return c->from;
}

void
command_close_to(struct command *c)
{
	close_if(&c->to);
}

void
command_kill(struct command *c)
{
	if (c->function.run == NULL)
		kill(c->pid, SIGKILL);
}

/* Say why the program failed.  The message of a program of this suite begins with its own name,
 * which is not repeated. */
static int
say_why(const struct command *c, int status, struct err *e)
{
	size_t n = strlen(c->name);

	if (WIFSIGNALED(status))
		return err_set(
		    e, ERR_IO, "%s: was ended by signal %d", c->name, WTERMSIG(status));
	if (c->last[0] == '\0')
		return err_set(e, ERR_IO, "%s: failed with status %d, and did not say why",
		    c->name, WEXITSTATUS(status));
	if (strncmp(c->last, c->name, n) == 0 && c->last[n] == ':')
		return err_set(e, ERR_IO, "%s", c->last);
	return err_set(e, ERR_IO, "%s: %s", c->name, c->last);
}

static int
end_program(struct command *c, struct err *e)
{
	int status = 0, rc;

	while ((rc = waitpid(c->pid, &status, 0)) < 0 && errno == EINTR)
		if (cancel_signal() != 0)
			kill(c->pid, SIGTERM);
	if (rc < 0)
		err_os(e, "%s: how it has ended cannot be known", c->name);
	pthread_join(c->thread, NULL);
	fclose(c->said);
	return rc > 0 && status != 0 ? say_why(c, status, e) : rc < 0 ? -1 : 0;
}

static int
end_function(struct command *c, struct err *e)
{
	pthread_join(c->thread, NULL);
	if (c->function.rc != 0)
		*e = c->function.why;
	return c->function.rc;
}

int
command_end(struct command *c, struct err *e)
{
	if (c == NULL)
		return 0;
	close_if(&c->to);
	close_if(&c->from);
	int rc = c->function.run != NULL ? end_function(c, e) : end_program(c, e);
	free(c);
	return rc;
}

static int
read_answer(struct command *c, size_t most, struct buf *b, struct err *e)
{
	uint8_t piece[ANSWER_BYTES];
	ssize_t n;

	while ((n = read(c->from, piece, sizeof piece)) != 0) {
		if (n < 0 && errno == EINTR && cancel_check(e) == 0)
			continue;
		if (n < 0)
			return errno == EINTR ? -1 : err_os(e, "%s", c->name);
		if ((size_t)n > most - b->len)
			return err_set(e, ERR_FORMAT, "%s: prints too much", c->name);
		buf_bytes(b, piece, (size_t)n);
	}
	buf_bytes(b, "", 1);
	return buf_ok(b) ? 0 : err_nomem(e, c->name);
}

int
command_take_answer(struct command *c, size_t most, char **out, struct err *e)
{
	struct buf b = { 0 };
	struct err late;

	*out = NULL;
	int rc = read_answer(c, most, &b, e);
	if (rc != 0)
		command_kill(c);
	int ended = command_end(c, &late);
	if (rc == 0 && ended != 0)
		*e = late, rc = -1;
	if (rc == 0)
		*out = (char *)b.base;
	else
		buf_free(&b);
	return rc;
}

int
command_answer(const char *const argv[], size_t most, char **out, struct err *e)
{
	struct command *c;

	*out = NULL;
	return command_start(&c, argv, COMMAND_OUT, e) == 0 ? command_take_answer(c, most, out, e)
	                                                    : -1;
}
