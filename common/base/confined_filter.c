/* confined_filter.c: the system calls that a confined child may make. confined_child()
 * calls this in the child, in its only thread, before it looks at any byte of a stranger's.
 *
 * All other system calls fail with EPERM, so that a library which tries something that it
 * can do without goes on without it.  Descriptors that the program has open stay readable
 * by pread(2), since nothing here knows which of them is the source.  pread(2) changes
 * nothing that the parent has: read(2) and lseek(2) would move the parent's place in a
 * file, and take what is in a pipe or a socket.  What is read can be written only to the
 * parent, or to the descriptor that the caller allows. */
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/callfilter.h"
#include "common/base/confined_impl.h"

static const int allowed[] = {
	SCMP_SYS(pread64),
	SCMP_SYS(brk),
#ifdef __s390x__
	SCMP_SYS(mmap), /* its arguments are in memory, where a filter does not see them */
#endif
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(mprotect),
	SCMP_SYS(madvise),
	SCMP_SYS(futex),
	SCMP_SYS(getrandom),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(time),
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(sched_yield),
	/* what a crash needs: abort(), and the handlers of sanitizers */
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
};

static int
allow_for(scmp_filter_ctx f, int call, int first)
{
	return callfilter_allow_arg(f, call, 0, SCMP_CMP_EQ, (scmp_datum_t)first, 0);
}

/* Allows memory of the child's own.  What is shared would be written into files that the
 * parent may write, and RLIMIT_DATA does not count it. */
static int
allow_memory(scmp_filter_ctx f)
{
	int rc = 0;

#ifndef __s390x__
	rc = callfilter_allow_arg(
	    f, SCMP_SYS(mmap), 3, SCMP_CMP_MASKED_EQ, MAP_TYPE, MAP_PRIVATE);
	if (rc == 0)
		rc = callfilter_allow_arg(
		    f, SCMP_SYS(mmap2), 3, SCMP_CMP_MASKED_EQ, MAP_TYPE, MAP_PRIVATE);
#endif
	return rc;
}

static int
add_rules(scmp_filter_ctx f, int pipe, int asks_fd)
{
	int rc = allow_memory(f);

	if (rc == 0)
		rc = allow_for(f, SCMP_SYS(write), pipe);
	if (rc == 0 && asks_fd != 0)
		rc = allow_for(f, SCMP_SYS(write), asks_fd);
	if (rc == 0 && asks_fd != 0)
		rc = allow_for(f, SCMP_SYS(read), asks_fd);
	if (rc == 0 && CONFINED_SHADOWED)
		rc = allow_for(f, SCMP_SYS(write), STDERR_FILENO);
	return rc == 0 ? allow_for(f, SCMP_SYS(tgkill), getpid()) : rc;
}

int
confined_filter(int pipe, int asks_fd)
{
	scmp_filter_ctx f;
	int rc = callfilter_begin(&f, allowed, sizeof allowed / sizeof allowed[0]);

	return rc == 0 ? callfilter_load(f, add_rules(f, pipe, asks_fd)) : rc;
}
