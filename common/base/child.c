/* child.c: runs another program beside this one.  stream/attach and common/resize call this,
 * each in one thread; a thread for each child reads what the program prints. */
#include "common/base/child.h"

#include <errno.h>
#include <fcntl.h>
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

struct child {
	const char *name; /* argv[0], borrowed */
	pid_t pid;
	bool ended;
	int status; /* as waitpid(2) has it, when `ended` */
	pthread_t reader;
	FILE *said;            /* what it prints */
	pthread_mutex_t lock; /* guards the next three */
	char last[LINE_BYTES]; /* last line that it printed */
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

static void *
read_lines(void *arg)
{
	struct child *c = arg;
	char line[LINE_BYTES];

	while (fgets(line, sizeof line, c->said) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0] == '\0' || line[0] == ' ' || line[0] == '\t')
			continue; /* a line of continuation is left out */
		pthread_mutex_lock(&c->lock);
		snprintf(c->last, sizeof c->last, "%s", without_names(line));
		child_line_fn tell = c->tell;
		void *tell_arg = c->tell_arg;
		pthread_mutex_unlock(&c->lock);
		if (tell != NULL)
			tell(tell_arg, without_names(line));
	}
	return NULL;
}

static int
begin(struct child *c, const char *const argv[], struct err *e)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) != 0)
		return err_os(e, "a pipe");
	c->said = fdopen(fds[0], "r");
	int rc = c->said == NULL ? err_nomem(e, argv[0])
	                         : spawn_program(&c->pid, argv,
	                               (struct spawn_files){ -1, fds[1], fds[1] }, true, e);
	close(fds[1]);
	if (rc == 0 && (errno = pthread_create(&c->reader, NULL, read_lines, c)) != 0) {
		spawn_undo(c->pid);
		rc = err_os(e, "%s: a thread for what it prints", argv[0]);
	}
	if (rc == 0)
		return 0;
	if (c->said != NULL)
		fclose(c->said);
	else
		close(fds[0]);
	return -1;
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
	if (c->said == NULL)
		return;
	pthread_join(c->reader, NULL);
	fclose(c->said);
	c->said = NULL;
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
	const char *why = c->last[0] != '\0' ? c->last : "failed, and did not say why";
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
