/* Files that are replaced as a whole: the old content or the new one, whatever fails; and
 * locks of files. */
#include "common/base/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "common/base/lock.h"
#include "tests/unit/scratch.h"

static struct err e;
static char synced[10]; /* f: a file, F: one that has its name already, d: a folder */
static bool fails;

/* What the library asks of the system. */
int
fsync(int fd)
{
	struct stat st, named;
	bool file = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
	bool has_name = file && stat("file", &named) == 0 && named.st_ino == st.st_ino;

	strcat(synced, has_name ? "F" : file ? "f" : "d");
	return fails ? errno = EIO, -1 : (int)syscall(SYS_fsync, fd);
}

static bool
holds(const char *path, const char *text)
{
	char is[100] = "";
	int fd = open(path, O_RDONLY);
	ssize_t n = fd >= 0 ? read(fd, is, sizeof is - 1) : -1;

	if (fd >= 0)
		close(fd);
	return n == (ssize_t)strlen(text) && strcmp(is, text) == 0;
}

static unsigned
mode_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_mode & 0777 : 0;
}

static int
put(const char *path, const char *text)
{
	synced[0] = '\0';
	return replace_file(path, text, strlen(text), 0640, 0, &e);
}

static void
test_content_and_mode(void)
{
	T_CHECK(put("file", "one\n") == 0);
	T_CHECK(holds("file", "one\n"));
	T_CHECK(mode_of("file") == 0640);
	T_CHECK(chmod("file", 0604) == 0);
	T_CHECK(put("file", "2") == 0);
	T_CHECK(holds("file", "2"));
	T_CHECK(mode_of("file") == 0604);
	T_CHECK(access("file.partial", F_OK) != 0);
	T_CHECK(symlink("file", "link") == 0);
	T_CHECK(put("link", "three") == 0);
	T_CHECK(holds("link", "three"));
	T_CHECK(holds("file", "2"));
}

/* The content is on the disk before it has the name, and then the name. */
static void
test_synced(void)
{
	T_CHECK(put("file", "synced") == 0);
	T_CHECK(strcmp(synced, "fd") == 0);
	synced[0] = '\0';
	T_CHECK(replace_file("file", "x", 1, 0600, REPLACE_UNSYNCED, &e) == 0);
	T_CHECK(strcmp(synced, "") == 0);
	T_CHECK(holds("file", "x"));
	fails = true;
	T_CHECK(put("file", "lost") == -1);
	T_CHECK(e.kind == ERR_IO);
	T_CHECK(e.os == EIO);
	fails = false;
	T_CHECK(holds("file", "x"));
	T_CHECK(access("file.partial", F_OK) != 0);
}

/* What a program left that was killed is longer, and does not shine through. */
static void
test_leftovers(void)
{
	int fd = open("file.partial", O_WRONLY | O_CREAT, 0600);

	T_CHECK(fd >= 0 && write(fd, "half of something", 17) == 17);
	close(fd);
	T_CHECK(put("file", "whole") == 0);
	T_CHECK(holds("file", "whole"));
	T_CHECK(access("file.partial", F_OK) != 0);
}

static void
test_failures(void)
{
	int fd;

	T_CHECK(put("not/there", "x") == -1);
	T_CHECK(e.kind == ERR_IO);
	T_CHECK(mkfifo("fifo", 0600) == 0);
	T_CHECK(put("fifo", "x") == -1);
	T_CHECK(e.kind == ERR_REFUSED);
	T_CHECK(put("/dev/null", "x") == -1);
	T_CHECK(e.kind == ERR_REFUSED);
	T_CHECK(symlink("elsewhere", "led.partial") == 0);
	T_CHECK(put("led", "x") == -1);
	T_CHECK(access("elsewhere", F_OK) != 0);
	/* Another writer is at it. */
	T_CHECK(put("file", "before") == 0);
	T_CHECK(lock_file(&fd, "file.partial", "file", "mine", &e) == 0);
	T_CHECK(put("file", "after") == -1);
	T_CHECK(e.kind == ERR_REFUSED);
	T_CHECK(strcmp(e.text, "file: another program is writing it") == 0);
	T_CHECK(holds("file", "before"));
	close(fd);
	T_CHECK(put("file", "after") == 0);
	T_CHECK(holds("file", "after"));
}

static void
test_locks(void)
{
	int one, other;

	T_CHECK(lock_file(&one, "lock", "it", "somebody has it", &e) == 0);
	T_CHECK(mode_of("lock") == 0600);
	T_CHECK(lock_file(&other, "lock", "it", "somebody has it", &e) == -1);
	T_CHECK(other == -1);
	T_CHECK(e.kind == ERR_REFUSED);
	T_CHECK(strcmp(e.text, "it: somebody has it") == 0);
	/* A lock of a file without a name is none. */
	T_CHECK(unlink("lock") == 0);
	T_CHECK(lock_file(&other, "lock", "it", "somebody has it", &e) == 0);
	T_CHECK(lock_try(other, false) == 1);
	close(other);
	close(one);
	T_CHECK(lock_file(&one, "not/there", "it", "somebody has it", &e) == -1);
	T_CHECK(e.kind == ERR_IO);
	T_CHECK(one == -1);
}

int
main(void)
{
	scratch_init();
	umask(022);
	if (chdir(scratch_dir) != 0)
		return 1;
	test_content_and_mode();
	test_synced();
	test_leftovers();
	test_failures();
	test_locks();
	return t_done();
}
