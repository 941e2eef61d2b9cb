/* A program that runs beside this one: its result is its error, not the progress that
 * came after it; lines of both streams are told apart.  It has no descriptors but its
 * own, and leaves none, and no process.  All of it also where the kernel has no
 * pidfd_open(2). */
#include "common/base/child.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/base/process.h"
#include "tests/unit/scratch.h"

static struct err e;
static bool old_kernel;
static const struct process_files nothing = { -1, -1, -1 };

/* Stands in for the C library's. */
int
pidfd_open(pid_t pid, unsigned flags)
{
	if (!old_kernel)
		return (int)syscall(SYS_pidfd_open, pid, flags);
	errno = ENOSYS;
	return -1;
}

static int
run(const char *script)
{
	const char *const argv[] = { "sh", "-c", script, NULL };

	e = (struct err){ .kind = ERR_NONE };
	return child_run(argv, &e);
}

static bool
fails_with(const char *script, const char *why)
{
	int rc = run(script);
	bool ok = rc == -1 && e.kind == ERR_IO && strcmp(e.text, why) == 0;

	if (!ok)
		printf("# %d: %s\n", rc, e.text);
	return ok;
}

static void
test_result(void)
{
	T_CHECK(run("echo 100 %; echo 'sh: a warning' >&2") == 0);
	T_CHECK(fails_with(
	    "echo 'sh: no room' >&2; sleep 0.05; echo 100 %; exit 1", "sh: no room"));
	T_CHECK(fails_with(
	    "echo 'x: error: no room' >&2; echo 100 %; exit 1", "sh: no room"));
	T_CHECK(fails_with("echo no room; echo; exit 1", "sh: no room"));
	T_CHECK(fails_with("printf 'no end of line' >&2; exit 1", "sh: no end of line"));
	T_CHECK(fails_with(
	    "echo first >&2; echo '  more of it' >&2; exit 1", "sh: first"));
	T_CHECK(fails_with("echo '  beware' >&2; echo '  no room' >&2; exit 1", "sh: no room"));
	T_CHECK(fails_with("echo '  beware' >&2; echo first >&2; echo '  more' >&2; exit 1",
	    "sh: first"));
	T_CHECK(fails_with("exit 3", "sh: ended with status 3, and did not say why"));
	T_CHECK(fails_with("kill -9 $$", "sh: was ended by signal 9"));
	T_CHECK(fails_with(
	    "echo no room >&2; echo Command failed. >&2; exit 1", "sh: no room"));
	T_CHECK(fails_with("printf 'no room\\r\\n' >&2; exit 1", "sh: no room"));
	T_CHECK(fails_with("echo 'a read error: x: error: y' >&2; exit 1",
	    "sh: a read error: x: error: y"));
}

struct told {
	unsigned n[2];
	char last[2][100];
};

static void
tell(void *arg, enum child_stream which, const char *line)
{
	struct told *t = arg;

	t->n[which]++;
	snprintf(t->last[which], sizeof t->last[which], "%.99s", line);
}

static void
test_streams(void)
{
	static const char script[] =
	    "for i in 1 2 3; do echo $i; done; echo four >&2; echo done";
	const char *const argv[] = { "sh", "-c", script, NULL };
	struct told t = { .n = { 0 } };

	T_CHECK(child_run_telling(argv, tell, &t, &e) == 0);
	T_CHECK(t.n[CHILD_OUTPUT] == 4 && t.n[CHILD_ERRORS] == 1);
	T_CHECK(strcmp(t.last[CHILD_OUTPUT], "done") == 0);
	T_CHECK(strcmp(t.last[CHILD_ERRORS], "four") == 0);
}

/* A line longer than one that is kept is told in pieces, and none of it is lost. */
static void
test_long_line(void)
{
	static const char script[] = "head -c 5000 /dev/zero | tr '\\0' x";
	const char *const argv[] = { "sh", "-c", script, NULL };
	struct told t = { .n = { 0 } };

	T_CHECK(child_run_telling(argv, tell, &t, &e) == 0);
	T_CHECK(t.n[CHILD_OUTPUT] == (5000 + 398) / 399);
}

static struct child *
begin(const char *script, unsigned pipes)
{
	const char *const argv[] = { "sh", "-c", script, NULL };
	struct child *c;

	T_CHECK(child_start(&c, argv, pipes, &e) == 0);
	return c;
}

/* Output that does not fit into a pipe. */
static void
test_much(void)
{
	static const char script[] = "head -c 1000000 /dev/zero | tr '\\0' x";
	const char *const argv[] = { "sh", "-c", script, NULL };
	char *answer;

	T_CHECK(child_answer(argv, 1000000, &answer, &e) == 0);
	T_CHECK(answer != NULL && strspn(answer, "x") == 1000000);
	T_CHECK(answer != NULL && answer[1000000] == '\0');
	free(answer);
	T_CHECK(child_answer(argv, 999999, &answer, &e) == -1 && answer == NULL);
	T_CHECK(e.kind == ERR_FORMAT && strcmp(e.text, "sh: prints too much") == 0);
	T_CHECK(fails_with("head -c 1000000 /dev/zero | tr '\\0' x >&2; echo; echo >&2;"
	                   "echo no room >&2; exit 1",
	    "sh: no room"));
}

static void
test_pipes(void)
{
	struct child *c = begin("head -c 3 | tr a b; exit 3", CHILD_IN | CHILD_OUT);
	char *answer;

	T_CHECK(write(child_to(c), "aha", 3) == 3);
	T_CHECK(child_read_answer(child_from(c), "sh", 10, &answer, &e) == 0);
	T_CHECK(strcmp(answer, "bhb") == 0);
	free(answer);
	T_CHECK(child_wait(c, &e) == -1);
	T_CHECK(strcmp(e.text, "sh: ended with status 3, and did not say why") == 0);
}

/* A program that has closed its output still runs.  What a script has started is waited
 * for as long as it has the script's output; of a program with pipes only its own end
 * counts. */
static void
test_output_and_end(void)
{
	struct child *c = begin("exec >&- 2>&-; read -r end; exit 4", CHILD_IN);
	uint64_t from = clock_us();

	T_CHECK(child_runs_for(c, 100000) && clock_us() >= from + 100000);
	T_CHECK(child_wait(c, &e) == -1 && strstr(e.text, "ended with status 4") != NULL);
	T_CHECK(fails_with("(sleep 0.2; echo late >&2) & exit 1", "sh: late"));
	T_CHECK(child_wait(begin("sleep 100 & echo $! >&2; exit 1", CHILD_IN), &e) == -1);
	T_CHECK(clock_us() < from + 60000000);
	int left = atoi(e.text + strlen("sh: "));
	T_CHECK(left > 1 && kill(left, SIGKILL) == 0);
}

static bool
is_zombie(pid_t pid)
{
	char path[64], state = 0;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	FILE *f = fopen(path, "re");
	T_CHECK(f != NULL && fscanf(f, "%*d (sh) %c", &state) == 1);
	fclose(f);
	return state == 'Z';
}

/* One that has ended before is waited for as others are, and more than once. */
static void
test_ended_before(void)
{
	const char *const argv[] = { "sh", "-c", "exit 5", NULL };
	char why[PROCESS_WHY_BYTES];
	struct process p;

	T_CHECK(process_start(&p, argv, nothing, false, &e) == 0);
	while (!is_zombie(p.pid))
		usleep(10000);
	T_CHECK(process_wait(&p, PROCESS_FOREVER) && process_wait(&p, 0));
	T_CHECK(process_failed(&p, why) && strcmp(why, "ended with status 5") == 0);
	process_forget(&p);
}

/* A program that ignores SIGTERM is killed, with what it has started. */
static void
test_deaf(void)
{
	char script[300];

	snprintf(script, sizeof script, "trap '' TERM; : > %s; sleep 1000", in_scratch("ready"));
	struct child *c = begin(script, 0);
	while (access(in_scratch("ready"), F_OK) != 0 && child_runs_for(c, 10000))
		;
	T_CHECK(unlink(in_scratch("ready")) == 0);
	uint64_t from = clock_us();
	T_CHECK(child_end(c, 100000, &e) == -1 && clock_us() >= from + 100000);
	T_CHECK(strcmp(e.text, "sh: was ended by signal 9") == 0);
}

static void
test_ready(void)
{
	struct err ignored;
	struct stat st;

	setenv("PIDFILE", in_scratch("pid"), 1);
	struct child *c = begin(
	    ": > $PIDFILE; sleep 0.1; echo 1 > $PIDFILE; exec sleep 1000", 0);
	T_CHECK(child_ready(c, in_scratch("pid"), 60000000, &e) == 0);
	T_CHECK(stat(in_scratch("pid"), &st) == 0 && st.st_size == 2);
	T_CHECK(child_ready(c, in_scratch("other"), 100000, &e) == -1 && e.kind == ERR_IO);
	T_CHECK(strstr(e.text, "other: was not written") != NULL);
	T_CHECK(unlink(in_scratch("pid")) == 0 && child_end(c, 60000000, &ignored) == -1);
	c = begin("echo no room >&2; exit 1", 0);
	T_CHECK(child_ready(c, in_scratch("pid"), 60000000, &e) == -1);
	T_CHECK(strcmp(e.text, "sh: no room") == 0);
	T_CHECK(child_end(c, 60000000, &ignored) == -1);
}

static void
test_not_started(void)
{
	const char *const missing[] = { "no-such-program", NULL };
	const char *const text[] = { in_scratch("text"), NULL };
	const char *const junk[] = { in_scratch("junk"), NULL };

	T_CHECK(child_run(missing, &e) == -1 && e.kind == ERR_ABSENT);
	T_CHECK(strcmp(e.text, "no-such-program is not installed") == 0);
	T_CHECK(sh("echo exit 0 > text; printf '\\1\\2\\3' > junk; chmod 755 junk") == 0);
	T_CHECK(child_run(text, &e) == -1 && e.kind == ERR_IO && e.os == EACCES);
	T_CHECK(strstr(e.text, "text cannot be started: Permission denied") != NULL);
	T_CHECK(child_run(junk, &e) == -1 && e.kind == ERR_IO);
}

static unsigned
count_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n;
}

static void
test_nothing_is_left(void)
{
	unsigned n = count_descriptors(), failed = 0;

	for (int i = 0; i < 200; i++)
		failed += run(i % 2 == 0 ? ":" : "echo no >&2; exit 1") != 0;
	T_CHECK(failed == 100);
	T_CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
	/* Where threads wait for the ends, they may have to come to their own. */
	for (int i = 0; i < 1000 && count_descriptors() != n; i++)
		usleep(10000);
	T_CHECK(count_descriptors() == n);
}

/* It has the three descriptors that it was given, and signals as they usually are. */
static void
test_inherits_nothing(void)
{
	const char *const fds[] = { "sh", "-c", "ls /proc/$$/fd; :", NULL };
	const char *const signals[] = { "grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status",
		NULL };
	int open_fd = open("/dev/null", O_RDONLY), high = dup2(open_fd, 777);
	unsigned long long blocked, ignored;
	sigset_t some, before;
	char *answer;

	T_CHECK(child_answer(fds, 1000, &answer, &e) == 0);
	T_CHECK(strcmp(answer, "0\n1\n2\n") == 0);
	free(answer);
	close(open_fd);
	close(high);
	sigemptyset(&some);
	sigaddset(&some, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &some, &before);
	void (*usual)(int) = signal(SIGPIPE, SIG_IGN);
	T_CHECK(child_answer(signals, 1000, &answer, &e) == 0);
	T_CHECK(sscanf(answer, "SigBlk: %llx SigIgn: %llx", &blocked, &ignored) == 2);
	/* The C library's posix_spawn() has its own two ignored, 32 and 33. */
	T_CHECK(blocked == 0 && (ignored & ~0x180000000ULL) == 0);
	free(answer);
	signal(SIGPIPE, usual);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void
cancel_at_line(void *arg, enum child_stream which, const char *line)
{
	struct cancel *c = arg;
	(void)which, (void)line;

	c->signal = SIGINT;
}

/* Work that is told to end asks the program that it waits for to end; what is run
 * afterwards, to clean up, is left alone. */
static void
test_cancelled(void)
{
	struct cancel work = { 0 };
	struct child *c = begin("read -r go; echo x >&2; exec sleep 1000", CHILD_IN);

	cancel_work_for(&work);
	child_tell(c, cancel_at_line, &work);
	T_CHECK(child_wait(c, &e) == -1);
	T_CHECK(strcmp(e.text, "sh: was ended by signal 15") == 0);
	T_CHECK(child_wait(begin("sleep 0.3; exit 6", 0), &e) == -1);
	T_CHECK(strstr(e.text, "ended with status 6") != NULL);
	cancel_work_for(NULL);
}

/* A loop waits for the end among other descriptors. */
static void
test_process(void)
{
	const char *const argv[] = { "sleep", "1000", NULL };
	struct process p;
	char why[PROCESS_WHY_BYTES];

	T_CHECK(process_start(&p, argv, nothing, true, &e) == 0);
	struct pollfd f = { .fd = p.fd, .events = POLLIN };
	T_CHECK(poll(&f, 1, 0) == 0 && !process_wait(&p, 0));
	process_signal(&p, SIGTERM);
	T_CHECK(poll(&f, 1, 60000) == 1 && process_wait(&p, 0));
	T_CHECK(process_failed(&p, why) && strcmp(why, "was ended by signal 15") == 0);
	process_forget(&p);
	T_CHECK(p.pid == 0);
}

/* A program whose parent has let it ignore its children's ends learns no status, but
 * waits. */
static void
test_ends_ignored(void)
{
	void (*usual)(int) = signal(SIGCHLD, SIG_IGN);

	T_CHECK(fails_with("sleep 0.1", "sh: has ended, and how cannot be known"));
	signal(SIGCHLD, usual);
}

static void
test_all(void)
{
	test_result();
	test_streams();
	test_long_line();
	test_much();
	test_pipes();
	test_output_and_end();
	test_ended_before();
	test_deaf();
	test_ready();
	test_not_started();
	test_nothing_is_left();
	test_inherits_nothing();
	test_cancelled();
	test_process();
	test_ends_ignored();
}

int
main(void)
{
	scratch_init();
	test_all();
	old_kernel = true;
	test_all();
	scratch_done();
	return t_done();
}
