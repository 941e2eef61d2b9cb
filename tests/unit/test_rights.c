/* What a process has given up: in a child, after rights_give_up(), each forbidden thing fails with the errno that
 * it should have, and each allowed one works. */
#include "common/base/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/base/confined_impl.h"
#include "tests/unit/scratch.h"

static struct err e;

/* What came of what the child tried: 0, or an errno. */
struct tried {
	int given_up, without;
	int write_in, write_out, make_out, remove_out, rename_out, truncate_out, write_file;
	int read_out, run, fork_it, trace, kill_parent, raw, packet, type, mount_it, thread, udp;
};

static int
outcome(long rc)
{
	return rc >= 0 ? 0 : errno;
}

static int
try_open(const char *name, int flags)
{
	int fd = open(in_scratch(name), flags | O_CLOEXEC, 0600);
	int why = outcome(fd);

	if (fd >= 0)
		close(fd);
	return why;
}

static int
try_socket(int family, int type)
{
	int fd = socket(family, type | SOCK_CLOEXEC, 0);
	int why = outcome(fd);

	if (fd >= 0)
		close(fd);
	return why;
}

static void *
nothing(void *arg)
{
	return arg;
}

static int
try_fork(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	return outcome(pid);
}

static void
try_calls(struct tried *t)
{
	char name[] = "true", *argv[] = { name, NULL };
	pthread_t thread;

	t->run = outcome(execv("/bin/true", argv));
	t->fork_it = try_fork();
	t->trace = outcome(ptrace(PTRACE_SEIZE, getppid(), NULL, NULL));
	t->kill_parent = outcome(kill(getppid(), SIGCONT));
	t->raw = try_socket(AF_INET, SOCK_RAW);
	t->packet = try_socket(AF_PACKET, SOCK_DGRAM);
	t->type = outcome(ioctl(0, TIOCSTI, "x"));
	t->mount_it = outcome(chroot("/"));
	t->thread = pthread_create(&thread, NULL, nothing, NULL);
	if (t->thread == 0)
		pthread_join(thread, NULL);
	t->udp = try_socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK);
}

static void
try_files(struct tried *t)
{
	t->write_in = try_open("in/new", O_WRONLY | O_CREAT);
	if (t->write_in == 0)
		t->write_in = outcome(rename(in_scratch("in/new"), in_scratch("in/other")));
	t->write_out = try_open("out/old", O_WRONLY);
	t->make_out = try_open("out/new", O_WRONLY | O_CREAT);
	t->remove_out = outcome(unlink(in_scratch("out/old")));
	t->rename_out = outcome(rename(in_scratch("out/old"), in_scratch("in/old")));
	t->truncate_out = outcome(truncate(in_scratch("out/old"), 0));
	t->write_file = try_open("file", O_WRONLY | O_TRUNC);
	t->read_out = try_open("out/old", O_RDONLY);
}

static void
child(int pipe)
{
	struct rights r = { .n = 0 };
	struct tried t = { .given_up = -1 };
	const char *without;

	rights_may_write(&r, in_scratch("in"));
	rights_may_write(&r, in_scratch("file"));
	rights_may_write(&r, in_scratch("nothing"));
	rights_may_write(&r, NULL);
	t.given_up = rights_give_up(&r, &without, &e);
	t.without = without != NULL;
	try_files(&t);
	if (!t.without) /* what is not filtered would start another program here */
		try_calls(&t);
	if (write(pipe, &t, sizeof t) != sizeof t)
		_exit(1);
	_exit(0);
}

static bool
run_child(struct tried *t)
{
	int fds[2], status = -1;

	if (!T_CHECK(pipe(fds) == 0))
		return false;
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0)
		child(fds[1]);
	close(fds[1]);
	bool whole = T_CHECK(read(fds[0], t, sizeof *t) == (ssize_t)sizeof *t);
	close(fds[0]);
	T_CHECK(waitpid(pid, &status, 0) == pid);
	T_CHECK(status == 0);
	return whole;
}

static void
check_files(const struct tried *t)
{
	T_CHECK(t->write_in == 0);
	T_CHECK(t->write_file == 0);
	T_CHECK(t->read_out == 0);
	T_CHECK(t->write_out == EACCES);
	T_CHECK(t->make_out == EACCES);
	T_CHECK(t->remove_out == EACCES);
	T_CHECK(t->rename_out == EACCES || t->rename_out == EXDEV);
	T_CHECK(t->truncate_out == EACCES);
	T_CHECK(scratch_holds("out/old", "old\n", 4));
}

static void
check_calls(const struct tried *t)
{
	T_CHECK(t->run == EPERM);
	T_CHECK(t->fork_it == EPERM);
	T_CHECK(t->trace == EPERM);
	T_CHECK(t->kill_parent == EPERM);
	T_CHECK(t->raw == EPERM);
	T_CHECK(t->packet == EPERM);
	T_CHECK(t->type == EPERM);
	T_CHECK(t->mount_it == EPERM);
	T_CHECK(t->thread == 0);
	T_CHECK(t->udp == 0);
}

static void
test_given_up(void)
{
	struct tried t;

	T_CHECK(sh("mkdir in out && echo old > out/old && echo old > file") == 0);
	if (!run_child(&t))
		return;
	T_CHECK(t.given_up == 0);
	if (t.without && !CONFINED_SHADOWED) {
		skip("rights", "this system has not Landlock and seccomp");
		return;
	}
	check_files(&t);
	if (!CONFINED_SHADOWED)
		check_calls(&t);
}

static void
test_paths(void)
{
	struct rights r = { .n = 0 };
	char folder[200];

	T_CHECK(rights_may_replace(&r, "stats", folder, sizeof folder, &e) == 0);
	T_CHECK(strcmp(r.paths[0], ".") == 0);
	T_CHECK(rights_may_replace(&r, "/stats", folder, sizeof folder, &e) == 0);
	T_CHECK(strcmp(r.paths[1], "/") == 0);
	T_CHECK(rights_may_replace(&r, "/a/b/stats", folder, sizeof folder, &e) == 0);
	T_CHECK(strcmp(r.paths[2], "/a/b") == 0);
	T_CHECK(rights_may_replace(&r, "/dev/null", folder, sizeof folder, &e) == 0);
	T_CHECK(strcmp(r.paths[3], "/dev/null") == 0);
	T_CHECK(rights_may_replace(&r, "/a/b/stats", folder, 4, &e) == -1);
	T_CHECK(e.kind == ERR_USAGE);
	T_CHECK(r.n == 4);
}

static void
test_users(void)
{
	T_CHECK(rights_become("no-such-user", &e) == -1);
	T_CHECK(e.kind == ERR_ABSENT);
	T_CHECK(rights_give_folder("no-such-user", in_scratch("state"), &e) == -1);
	T_CHECK(rights_give_folder(NULL, in_scratch("state"), &e) == 0);
	T_CHECK(rights_give_folder(NULL, in_scratch("state"), &e) == 0);
	T_CHECK(rights_give_folder(NULL, in_scratch("no/state"), &e) == -1);
	T_CHECK(e.kind == ERR_IO);
	if (geteuid() != 0) {
		skip("users", "needs root");
		return;
	}
	struct stat st;
	T_CHECK(rights_give_folder("nobody", in_scratch("theirs"), &e) == 0);
	T_CHECK(stat(in_scratch("theirs"), &st) == 0);
	T_CHECK(st.st_uid != 0);
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0)
		_exit(rights_become("nobody", &e) == 0 && getuid() == st.st_uid &&
		              geteuid() == st.st_uid && setuid(0) != 0
		          ? 0
		          : 1);
	int status = -1;
	T_CHECK(waitpid(pid, &status, 0) == pid);
	T_CHECK(status == 0);
}

int
main(void)
{
	scratch_init();
	test_given_up();
	test_paths();
	test_users();
	return t_done();
}
