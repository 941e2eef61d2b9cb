/* Files that somebody has named: one that is there is opened, a named pipe is refused at once and not opened, and the
 * pipe of a shell, or one that is the standard input, is read to its end. */
#include "common/base/readable.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/statements.h"
#include "tests/t.h"
#include "tests/unit/scratch.h"

static struct err e;

static void
test_file(void)
{
	T_CHECK(sh("echo text > file") == 0);
	int fd = readable_open(in_scratch("file"), &e);
	T_CHECK(fd >= 0 && (fcntl(fd, F_GETFL) & O_NONBLOCK) == 0 && (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
	close(fd);
	T_CHECK(readable_open(in_scratch("none"), &e) < 0 && e.kind == ERR_IO && e.os == ENOENT);
}

static void
test_named_pipe(void)
{
	static const struct statement_kind none[] = { { 0 } };
	struct inotify_event opened;
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	T_CHECK(mkfifo(in_scratch("pipe"), 0600) == 0);
	T_CHECK(inotify_add_watch(watch, in_scratch("pipe"), IN_OPEN) >= 0);
	T_CHECK(readable_open(in_scratch("pipe"), &e) < 0 && e.kind == ERR_REFUSED && strstr(e.text, "named pipe") != NULL);
	T_CHECK(statements_read(none, NULL, in_scratch("pipe"), &e) != 0 && e.kind == ERR_REFUSED);
	T_CHECK(symlink("pipe", in_scratch("link")) == 0);
	T_CHECK(readable_open(in_scratch("link"), &e) < 0 && e.kind == ERR_REFUSED);
	/* Who writes to it still waits for its reader. */
	T_CHECK(read(watch, &opened, sizeof opened) < 0 && errno == EAGAIN);
	close(watch);
}

/* "program --key /dev/stdin < pipe": whoever has started the program has opened it. */
static void
test_input(void)
{
	int kept = dup(STDIN_FILENO), both = open(in_scratch("pipe"), O_RDWR | O_CLOEXEC);
	char text[8] = "";

	T_CHECK(both >= 0 && write(both, "text", 4) == 4 && dup2(both, STDIN_FILENO) == STDIN_FILENO);
	int fd = readable_open("/dev/stdin", &e);
	T_CHECK(fd >= 0 && read(fd, text, sizeof text) == 4 && strcmp(text, "text") == 0);
	close(fd);
	close(both);
	if (kept < 0)
		close(STDIN_FILENO);
	else
		T_CHECK(dup2(kept, STDIN_FILENO) == STDIN_FILENO);
	close(kept);
	T_CHECK(readable_open(in_scratch("pipe"), &e) < 0 && e.kind == ERR_REFUSED);
}

/* As bash makes it for "<(...)"; who writes may come late. */
static void
test_pipe_of_a_shell(void)
{
	char path[64], text[8] = "";
	int ends[2];

	T_CHECK(pipe(ends) == 0);
	snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
	int fd = readable_open(path, &e);
	T_CHECK(fd >= 0 && (fcntl(fd, F_GETFL) & O_NONBLOCK) == 0);
	T_CHECK(write(ends[1], "text", 4) == 4 && read(fd, text, sizeof text) == 4 && strcmp(text, "text") == 0);
	close(fd);
	close(ends[0]);
	close(ends[1]);
}

int
main(void)
{
	scratch_init();
	alarm(100); /* one that waits would do so for ever */
	test_file();
	test_named_pipe();
	test_input();
	test_pipe_of_a_shell();
	return t_done();
}
