/* process.c: processes are started, signalled and waited for (process.h).  child.c,
 * confined.c and the controller call this, each process in one thread. */
#include "common/base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/beside.h"
#include "common/base/clock.h"

static void
give(posix_spawn_file_actions_t *files, int fd, int as, int mode)
{
	if (fd >= 0)
		posix_spawn_file_actions_adddup2(files, fd, as);
	else
		posix_spawn_file_actions_addopen(files, as, "/dev/null", mode, 0);
}

/* Returns 0, or the errno of what failed. */
static int
spawn(pid_t *pid, const char *const argv[], struct process_files f, bool own_group)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, all;
	char path[PATH_MAX];
	short flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&files);
	give(&files, f.in, STDIN_FILENO, O_RDONLY);
	give(&files, f.out, STDOUT_FILENO, O_WRONLY);
	give(&files, f.err, STDERR_FILENO, O_WRONLY);
	posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(
	    &attr, own_group ? (short)(flags | POSIX_SPAWN_SETPGROUP) : flags);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setsigmask(&attr, &none);
	char *const *words = (char *const *)(uintptr_t)argv;
	int rc = posix_spawnp(pid, argv[0], &files, &attr, words, environ);
	if (rc == ENOENT && strchr(argv[0], '/') == NULL && beside_find(path, sizeof path, argv[0]))
		rc = posix_spawn(pid, path, &files, &attr, words, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	return rc;
}

/* What a thread waits for, where the kernel has no descriptors of processes. */
struct waiter {
	pid_t pid;
	int fd; /* of a pipe, which becomes readable at its other end */
};

static void *
wait_in_thread(void *arg)
{
	struct waiter w = *(struct waiter *)arg;
	siginfo_t how;

	free(arg);
	while (waitid(P_PID, (id_t)w.pid, &how, WEXITED | WNOWAIT) != 0 && errno == EINTR)
		;
	/* A process that was forked meanwhile may have the pipe, too, so closing it would
	 * not do. */
	(void)!write(w.fd, "", 1);
	close(w.fd);
	return NULL;
}

/* Returns a descriptor, or -1 with errno. */
static int
wait_by_thread(pid_t pid)
{
	struct waiter *w = malloc(sizeof *w);
	pthread_t thread;
	int fds[2];

	if (w == NULL || pipe2(fds, O_CLOEXEC) != 0) {
		free(w);
		return -1;
	}
	*w = (struct waiter){ pid, fds[1] };
	if ((errno = pthread_create(&thread, NULL, wait_in_thread, w)) == 0) {
		pthread_detach(thread);
		return fds[0];
	}
	free(w);
	close(fds[0]);
	close(fds[1]);
	return -1;
}

int
process_watch(struct process *p, pid_t pid, struct err *e)
{
	*p = (struct process){ .pid = pid, .fd = pidfd_open(pid, 0) };
	if (p->fd < 0 && errno == ENOSYS)
		p->fd = wait_by_thread(pid);
	/* This program ignores its children's ends (SIGCHLD), and this one has ended. */
	p->ended = p->fd < 0 && errno == ESRCH;
	p->status = -1;
	if (p->fd >= 0 || p->ended)
		return 0;
	err_os(e, "a process that was started cannot be waited for");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	*p = (struct process){ 0 };
	return -1;
}

int
process_start(struct process *p, const char *const argv[], struct process_files f,
    bool own_group, struct err *e)
{
	pid_t pid;

	*p = (struct process){ 0 };
	errno = spawn(&pid, argv, f, own_group);
	if (errno == ENOENT)
		return err_set(e, ERR_ABSENT, "%s is not installed", argv[0]);
	if (errno != 0)
		return err_os(e, "%s cannot be started", argv[0]);
	if (process_watch(p, pid, e) != 0)
		return err_ctx(e, "%s", argv[0]);
	p->own_group = own_group;
	return 0;
}

bool
process_ends_with(pid_t parent)
{
	return prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() == parent;
}

/* Its end has been seen.  waitpid() fails when this program ignores its children's ends
 * (SIGCHLD). */
static void
reap(struct process *p)
{
	pid_t pid = -1;

	while ((pid = waitpid(p->pid, &p->status, 0)) < 0 && errno == EINTR)
		;
	if (pid < 0)
		p->status = -1;
	p->ended = true;
}

bool
process_wait(struct process *p, uint64_t most_us)
{
	struct pollfd f = { .fd = p->fd, .events = POLLIN };
	uint64_t now = clock_us(), most = PROCESS_FOREVER - now;
	uint64_t until = now + (most_us < most ? most_us : most);

	while (!p->ended) {
		uint64_t left_ms = until > now ? (until - now - 1) / 1000 + 1 : 0;
		if (poll(&f, 1, left_ms < INT_MAX ? (int)left_ms : INT_MAX) > 0)
			reap(p);
		else if (left_ms == 0)
			break;
		now = clock_us();
	}
	return p->ended;
}

void
process_signal(const struct process *p, int sig)
{
	if (p->pid == 0 || p->ended)
		return;
	kill(p->own_group && sig == SIGKILL ? -p->pid : p->pid, sig);
}

void
process_signal_all(const struct process *p, int sig)
{
	if (p->pid != 0 && !p->ended)
		kill(p->own_group ? -p->pid : p->pid, sig);
}

void
process_end(struct process *p, uint64_t most_us)
{
	process_signal(p, SIGTERM);
	if (process_wait(p, most_us))
		return;
	process_signal(p, SIGKILL);
	process_wait(p, PROCESS_FOREVER);
}

bool
process_failed(const struct process *p, char why[PROCESS_WHY_BYTES])
{
	int s = p->status;

	if (s == -1)
		snprintf(why, PROCESS_WHY_BYTES, "has ended, and how cannot be known");
	else if (WIFSIGNALED(s))
		snprintf(why, PROCESS_WHY_BYTES, "was ended by signal %d", WTERMSIG(s));
	else
		snprintf(why, PROCESS_WHY_BYTES, "ended with status %d", WEXITSTATUS(s));
	return s != 0;
}

void
process_forget(struct process *p)
{
	if (p->pid != 0 && p->fd >= 0)
		close(p->fd);
	*p = (struct process){ 0 };
}
