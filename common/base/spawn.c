/* spawn.c: another program is started beside this one (spawn.h).  stream/attach and dsync/run
 * call this, in any thread. */
#include "common/base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/beside.h"

static void
give(posix_spawn_file_actions_t *files, int fd, int as, int mode)
{
	if (fd >= 0)
		posix_spawn_file_actions_adddup2(files, fd, as);
	else
		posix_spawn_file_actions_addopen(files, as, "/dev/null", mode, 0);
}

int
spawn_program(pid_t *pid, const char *const argv[], struct spawn_files f, bool own_group,
    struct err *e)
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
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(
	    &attr, own_group ? (short)(flags | POSIX_SPAWN_SETPGROUP) : flags);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setsigmask(&attr, &none);
	char *const *words = (char *const *)(uintptr_t)argv;
	int rc = posix_spawnp(pid, argv[0], &files, &attr, words, environ);
	if (rc == ENOENT && strchr(argv[0], '/') == NULL && beside(path, sizeof path, argv[0]))
		rc = posix_spawn(pid, path, &files, &attr, words, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	errno = rc;
	if (rc == 0)
		return 0;
	return rc == ENOENT ? err_set(e, ERR_ABSENT, "%s is not installed", argv[0])
	                    : err_os(e, "%s cannot be started", argv[0]);
}

void
spawn_undo(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}
