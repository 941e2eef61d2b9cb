/* servers.c: one frisbeed process for each session that has something to send (servers.h).  The
 * controller's loop calls this, in the program's first thread.
 *
 * A process that was started waits until its number is saved: a shell reads one line from a pipe
 * and becomes frisbeed then.  When the controller is killed before, the pipe ends, and so does
 * the shell.  A controller that starts finds the process by its number and its start time. */
#include "controller/sending/servers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/process.h"
#include "controller/sending/stats.h"

/* PATIENCE_US: frisbeed ends within 3 s of a signal, unless its disk hangs. */
/* STATUS_TAKEN: of a frisbeed whose port is taken, or whose group has another server. */
enum { PATH_BYTES = 4096, PATIENCE_US = 10000000, ARGS_MAX = 32, STATUS_TAKEN = 98 };

struct sender {
	struct servers *of;
	struct watch watch; /* of the process, closes its descriptor; fd -1: there is none */
	struct process process;
	uint32_t session;
	uint64_t end_us; /* when it was told to end; 0: it was not */
	struct timespec stats_at;
};

struct servers {
	struct loop *loop;
	struct swap *w;
	struct servers_config c;
	struct sender of_slot[SWAP_RUNNING_MAX];
	struct swap_now now;
	bool settled;  /* false: look for old files, after the start or the end of a process */
	uint64_t over; /* how many sessions had ended when their files were removed last */
};

int
servers_open(struct servers **out, struct loop *loop, struct swap *w,
    const struct servers_config *c, struct err *e)
{
	struct servers *x = calloc(1, sizeof *x);

	*out = x;
	if (x == NULL)
		return err_nomem(e, "the servers");
	x->loop = loop;
	x->w = w;
	x->c = *c;
	for (int i = 0; i < SWAP_RUNNING_MAX; i++)
		x->of_slot[i] = (struct sender){ .of = x, .watch = { .fd = -1 } };
	return 0;
}

void
servers_close(struct servers *x)
{
	if (x == NULL)
		return;
	for (int i = 0; i < SWAP_RUNNING_MAX; i++)
		loop_forget(x->loop, &x->of_slot[i].watch);
	free(x);
}

static void
path_of(const struct servers *x, uint32_t session, const char *end, char path[PATH_BYTES])
{
	snprintf(path, PATH_BYTES, "%s/session-%u.%s", x->c.state, session, end);
}

/* The last line of frisbeed's log. */
static void
last_line(const struct servers *x, uint32_t session, char *out, size_t cap)
{
	char path[PATH_BYTES], text[2048];

	path_of(x, session, "log", path);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;
	off_t from = size > (off_t)sizeof text - 1 ? size - (off_t)sizeof text + 1 : 0;
	ssize_t n = fd >= 0 ? pread(fd, text, sizeof text - 1, from) : 0;
	if (fd >= 0)
		close(fd);
	while (n > 0 && text[n - 1] == '\n')
		n--;
	text[n > 0 ? n : 0] = '\0';
	const char *line = strrchr(text, '\n');
	snprintf(out, cap, "%.*s", (int)cap - 1, line != NULL ? line + 1 : text);
}

static void
view(void *arg, const uint8_t ip[4], const struct swap_view *v)
{
	struct sender *p = arg;
	struct swap_session *s = swap_find_session(p->of->w, p->session);

	swap_viewed(p->of->w, p->of->now, s, ip, v);
}

static void
look(struct servers *x, struct sender *p, struct swap_session *s)
{
	char path[PATH_BYTES];
	struct swap_server seen;
	struct stat st;
	struct err e;

	path_of(x, s->id, "json", path);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= STATS_BYTES_MAX &&
	    memcmp(&st.st_mtim, &p->stats_at, sizeof p->stats_at) != 0) {
		char *text = malloc((size_t)st.st_size + 1);
		ssize_t n = text != NULL ? read(fd, text, (size_t)st.st_size) : -1;
		p->stats_at = st.st_mtim;
		if (n > 0 && stats_read(text, (size_t)n, &seen, view, p, &e) == 0)
			swap_served(x->w, x->now, s, &seen);
		else
			log_warn("%s cannot be read", path);
		free(text);
	}
	close(fd);
}

static void
on_end(void *arg, uint32_t events)
{
	struct sender *p = arg;
	struct servers *x = p->of;
	struct swap_session *s = swap_find_session(x->w, p->session);
	char why[200];
	(void)events;

	process_wait(&p->process, PROCESS_FOREVER);
	loop_forget(x->loop, &p->watch);
	if (s != NULL)
		look(x, p, s); /* what was sent in its last second */
	last_line(x, p->session, why, sizeof why);
	log_info("frisbeed ended session=%u: %s", p->session, why);
	bool taken = WIFEXITED(p->process.status) && WEXITSTATUS(p->process.status) == STATUS_TAKEN;
	if (s != NULL && !(taken && swap_port_taken(x->w, s)))
		swap_server_is(x->w, x->now, s, 0, 0, why);
	x->settled = false; /* it may leave files */
}

/* Wait for the end of the process of a session. */
static int
watch(struct servers *x, struct swap_session *s, const struct process *process, struct err *e)
{
	struct sender *p = &x->of_slot[s->slot];

	*p = (struct sender){ x, { process->fd, on_end, p, 0 }, *process, .session = s->id };
	return loop_watch(x->loop, &p->watch, EPOLLIN, e);
}

/* The arguments: a shell that waits for its line, and becomes frisbeed. */
static void
arguments(const struct servers *x, const struct swap_session *s, char *image, char *stats,
    char *group, char *port, const char *argv[ARGS_MAX])
{
	uint16_t number;
	int n = 0;

	snprintf(image, PATH_BYTES, "%s/%s", x->c.images, s->image);
	path_of(x, s->id, "json", stats);
	orders_group(x->c.orders, s->slot, group, &number);
	snprintf(port, 8, "%u", number);
	const char *const first[] = { "/bin/sh", "-c", "read -r go && exec \"$@\"", "sh",
		x->c.frisbeed, "-i", x->c.address, "-m", group, "-p", port, "-D", "--stats", stats };
	for (; n < (int)(sizeof first / sizeof first[0]); n++)
		argv[n] = first[n];
	if (x->c.rate != NULL)
		argv[n++] = "-W", argv[n++] = x->c.rate;
	if (x->c.group_key != NULL)
		argv[n++] = "--group-key", argv[n++] = x->c.group_key;
	argv[n++] = "--";
	argv[n++] = image;
	argv[n] = NULL;
}

static int
spawn(struct servers *x, const struct swap_session *s, int in, struct process *p, struct err *e)
{
	char image[PATH_BYTES], stats[PATH_BYTES], path[PATH_BYTES], group[16], port[8];
	const char *argv[ARGS_MAX];

	path_of(x, s->id, "json", path);
	unlink(path); /* statistics of an earlier process are not those of this one */
	path_of(x, s->id, "log", path);
	int log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (log < 0)
		return err_os(e, "%s", path);
	arguments(x, s, image, stats, group, port, argv);
	int rc = process_start(p, argv, (struct process_files){ in, log, log }, true, e);
	close(log);
	return rc;
}

/* Saves which process it is, and lets it begin. */
static int
let_begin(struct servers *x, struct swap_session *s, pid_t pid, int out, struct err *e)
{
	swap_server_is(x->w, x->now, s, pid, process_began(pid), NULL);
	if (x->c.save(x->c.arg, e) != 0)
		return -1;
	if (write(out, "\n", 1) != 1)
		return err_os(e, "frisbeed's pipe");
	log_info("frisbeed started session=%u pid=%d image=%s", s->id, (int)pid, s->image);
	return 0;
}

static int
start(struct servers *x, struct swap_session *s, struct err *e)
{
	struct process process;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0)
		return err_os(e, "a pipe");
	int rc = spawn(x, s, ends[0], &process, e);
	close(ends[0]);
	if (rc == 0) {
		rc = watch(x, s, &process, e);
		if (rc == 0)
			rc = let_begin(x, s, process.pid, ends[1], e);
		if (rc != 0) {
			process_end(&process, 0);
			loop_forget(x->loop, &x->of_slot[s->slot].watch);
		}
	}
	close(ends[1]);
	return rc;
}

/* Finds the process of a session that was saved before the controller was started anew. */
static void
find_again(struct servers *x, struct swap_session *s)
{
	struct process process;
	struct err e;

	if (process_find(&process, (pid_t)s->pid, s->pid_start)) {
		if (watch(x, s, &process, &e) == 0) {
			log_info("frisbeed found session=%u pid=%d", s->id, (int)s->pid);
			return;
		}
		loop_forget(x->loop, &x->of_slot[s->slot].watch);
	}
	swap_server_is(x->w, x->now, s, 0, 0, "it was not there when the controller started");
}

/* Is this a file of a session that needs none any more?  A frisbeed that was killed leaves the one that it wrote,
 * beside the one that this was going to replace ("json.aB3dE9"). */
static bool
is_over(const struct servers *x, const char *name)
{
	unsigned id;
	int n = 0;

	if (sscanf(name, "session-%u.%n", &id, &n) != 1 || n == 0 ||
	    (strncmp(name + n, "json", 4) != 0 && strcmp(name + n, "log") != 0))
		return false;
	const struct swap_session *s = swap_find_session(x->w, id);
	return s == NULL || (s->state != SWAP_IS_RUNNING && s->pid == 0);
}

/* The files of sessions that have ended without a process, and what a controller left that was killed before
 * it could remove it. */
static void
remove_old_files(const struct servers *x)
{
	DIR *d = opendir(x->c.state);
	const struct dirent *f;

	while (d != NULL && (f = readdir(d)) != NULL)
		if (is_over(x, f->d_name))
			unlinkat(dirfd(d), f->d_name, 0);
	if (d != NULL)
		closedir(d);
}

/* A session whose nodes need nothing any more may end long after its process. */
static void
remove_files_when_due(struct servers *x)
{
	uint64_t over = 0;

	for (int i = 0; i < SWAP_STATES; i++)
		over += x->w->ended[i];
	if (!x->settled || x->over != over)
		remove_old_files(x);
	x->settled = true;
	x->over = over;
}

static void
end(struct sender *p, struct swap_now now)
{
	if (p->end_us == 0) {
		process_signal(&p->process, SIGTERM);
		p->end_us = now.us;
	} else if (now.us > p->end_us + PATIENCE_US) {
		process_signal(&p->process, SIGKILL);
	}
}

static void
settle(struct servers *x, struct swap_session *s)
{
	struct sender *p = &x->of_slot[s->slot];
	bool wanted = swap_wants_server(x->w, s, x->now.us);
	bool runs = p->watch.fd >= 0 && p->session == s->id;
	struct err e;

	if (s->pid != 0 && !runs && p->watch.fd < 0) {
		find_again(x, s);
		runs = p->watch.fd >= 0;
	}
	if (runs && !wanted && s->pid != 0)
		end(p, x->now);
	else if (wanted && p->watch.fd < 0 && s->pid == 0 && start(x, s, &e) != 0)
		swap_server_is(x->w, x->now, s, 0, 0, e.text);
}

void
servers_settle(struct servers *x, struct swap_now now)
{
	x->now = now;
	for (size_t i = 0; i < x->w->nsessions; i++) {
		struct swap_session *s = x->w->sessions[i];
		if (s->state == SWAP_IS_RUNNING || s->pid != 0)
			settle(x, s);
	}
	remove_files_when_due(x);
}

void
servers_look(struct servers *x, struct swap_now now)
{
	x->now = now;
	for (int i = 0; i < SWAP_RUNNING_MAX; i++) {
		struct sender *p = &x->of_slot[i];
		struct swap_session *s =
		    p->watch.fd >= 0 ? swap_find_session(x->w, p->session) : NULL;
		if (s != NULL && s->state == SWAP_IS_RUNNING)
			look(x, p, s);
	}
}
