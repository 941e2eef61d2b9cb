/* rights_calls.c: the system calls that a server may make.  rights_give_up() calls this in
 * the process's first thread.
 *
 * All other system calls fail with EPERM: a library that tries one and can do without does
 * not end the server, and for one that cannot do without there is an error with a sentence.
 * clone3 fails with ENOSYS: the C library then starts threads with clone, whose flags a
 * filter can see. */
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/callfilter.h"
#include "common/base/rights_impl.h"

static const int allowed[] = {
	/* Files; which of them may be written is Landlock's. */
	SCMP_SYS(open), SCMP_SYS(openat), SCMP_SYS(openat2), SCMP_SYS(creat), SCMP_SYS(close),
	SCMP_SYS(close_range), SCMP_SYS(read), SCMP_SYS(readv), SCMP_SYS(pread64),
	SCMP_SYS(preadv), SCMP_SYS(preadv2), SCMP_SYS(write), SCMP_SYS(writev),
	SCMP_SYS(pwrite64), SCMP_SYS(pwritev), SCMP_SYS(pwritev2), SCMP_SYS(lseek),
	SCMP_SYS(_llseek), SCMP_SYS(stat), SCMP_SYS(fstat), SCMP_SYS(lstat),
	SCMP_SYS(stat64), SCMP_SYS(fstat64), SCMP_SYS(lstat64), SCMP_SYS(fstatat64),
	SCMP_SYS(newfstatat), SCMP_SYS(statx), SCMP_SYS(statfs), SCMP_SYS(fstatfs),
	SCMP_SYS(statfs64), SCMP_SYS(fstatfs64), SCMP_SYS(access), SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2), SCMP_SYS(readlink), SCMP_SYS(readlinkat), SCMP_SYS(getdents),
	SCMP_SYS(getdents64), SCMP_SYS(getcwd), SCMP_SYS(mkdir), SCMP_SYS(mkdirat),
	SCMP_SYS(rmdir), SCMP_SYS(rename), SCMP_SYS(renameat), SCMP_SYS(renameat2),
	SCMP_SYS(unlink), SCMP_SYS(unlinkat), SCMP_SYS(link), SCMP_SYS(linkat),
	SCMP_SYS(truncate), SCMP_SYS(truncate64), SCMP_SYS(ftruncate), SCMP_SYS(ftruncate64),
	SCMP_SYS(fallocate), SCMP_SYS(fsync), SCMP_SYS(fdatasync), SCMP_SYS(sync_file_range),
	SCMP_SYS(flock), SCMP_SYS(fcntl), SCMP_SYS(fcntl64), SCMP_SYS(fadvise64),
	SCMP_SYS(fadvise64_64), SCMP_SYS(fchmod), SCMP_SYS(fchmodat), SCMP_SYS(chmod),
	SCMP_SYS(utimensat), SCMP_SYS(utimensat_time64), SCMP_SYS(umask), SCMP_SYS(dup),
	SCMP_SYS(dup2), SCMP_SYS(dup3), SCMP_SYS(pipe), SCMP_SYS(pipe2),
	SCMP_SYS(copy_file_range),
	/* Memory. */
	SCMP_SYS(brk), SCMP_SYS(mmap), SCMP_SYS(mmap2), SCMP_SYS(munmap), SCMP_SYS(mremap),
	SCMP_SYS(mprotect), SCMP_SYS(madvise), SCMP_SYS(mlock), SCMP_SYS(munlock),
	SCMP_SYS(membarrier),
	/* Threads; clone has a rule of its own. */
	SCMP_SYS(futex), SCMP_SYS(futex_time64), SCMP_SYS(set_robust_list),
	SCMP_SYS(get_robust_list), SCMP_SYS(set_tid_address), SCMP_SYS(rseq),
	SCMP_SYS(gettid), SCMP_SYS(getpid), SCMP_SYS(getppid), SCMP_SYS(sched_yield),
	SCMP_SYS(sched_getaffinity), SCMP_SYS(sched_getparam), SCMP_SYS(sched_getscheduler),
	SCMP_SYS(getpriority), SCMP_SYS(getcpu), SCMP_SYS(arch_prctl), SCMP_SYS(prctl),
	SCMP_SYS(exit), SCMP_SYS(exit_group),
	/* Signals to itself alone. */
	SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn),
	SCMP_SYS(rt_sigpending), SCMP_SYS(rt_sigtimedwait), SCMP_SYS(sigaltstack),
	SCMP_SYS(restart_syscall), SCMP_SYS(pause),
	/* Time, and waiting. */
	SCMP_SYS(time), SCMP_SYS(gettimeofday), SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_gettime64), SCMP_SYS(clock_getres), SCMP_SYS(clock_nanosleep),
	SCMP_SYS(clock_nanosleep_time64), SCMP_SYS(nanosleep), SCMP_SYS(poll),
	SCMP_SYS(ppoll), SCMP_SYS(ppoll_time64), SCMP_SYS(select), SCMP_SYS(pselect6),
	SCMP_SYS(epoll_create1), SCMP_SYS(epoll_ctl), SCMP_SYS(epoll_wait),
	SCMP_SYS(epoll_pwait), SCMP_SYS(eventfd2), SCMP_SYS(timerfd_create),
	SCMP_SYS(timerfd_settime),
	/* The network; socket has rules of its own. */
	SCMP_SYS(socketpair), SCMP_SYS(bind), SCMP_SYS(connect), SCMP_SYS(listen),
	SCMP_SYS(accept), SCMP_SYS(accept4), SCMP_SYS(getsockname), SCMP_SYS(getpeername),
	SCMP_SYS(getsockopt), SCMP_SYS(setsockopt), SCMP_SYS(shutdown), SCMP_SYS(send),
	SCMP_SYS(recv), SCMP_SYS(sendto), SCMP_SYS(recvfrom), SCMP_SYS(sendmsg),
	SCMP_SYS(recvmsg), SCMP_SYS(sendmmsg), SCMP_SYS(recvmmsg),
	/* What this machine is, and this process. */
	SCMP_SYS(getrandom), SCMP_SYS(uname), SCMP_SYS(sysinfo), SCMP_SYS(getrusage),
	SCMP_SYS(getrlimit), SCMP_SYS(ugetrlimit), SCMP_SYS(setrlimit), SCMP_SYS(getuid),
	SCMP_SYS(geteuid), SCMP_SYS(getgid), SCMP_SYS(getegid), SCMP_SYS(getuid32),
	SCMP_SYS(geteuid32), SCMP_SYS(getgid32), SCMP_SYS(getegid32),
};

/* Allows new threads, but no new processes. */
static int
add_clone(scmp_filter_ctx f)
{
	int rc = callfilter_allow_arg(
	    f, SCMP_SYS(clone), 0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD);

	return rc != 0 ? rc
	               : -seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
}

/* Allows sockets for TCP and UDP, for routes and interfaces (netlink), and for the log and
 * the resolver (AF_UNIX); raw IP sockets are not among them. */
static int
add_socket(scmp_filter_ctx f)
{
	static const struct {
		int family, type;
	} sockets[] = { { AF_INET, SOCK_DGRAM }, { AF_INET, SOCK_STREAM },
		{ AF_INET6, SOCK_DGRAM }, { AF_INET6, SOCK_STREAM }, { AF_UNIX, SOCK_DGRAM },
		{ AF_UNIX, SOCK_STREAM }, { AF_NETLINK, SOCK_RAW }, { AF_NETLINK, SOCK_DGRAM } };
	const uint64_t type_mask = ~(uint64_t)(SOCK_CLOEXEC | SOCK_NONBLOCK);
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof sockets / sizeof *sockets; i++) {
		const struct scmp_arg_cmp both[] = {
			{ 0, SCMP_CMP_EQ, (scmp_datum_t)sockets[i].family, 0 },
			{ 1, SCMP_CMP_MASKED_EQ, type_mask, (scmp_datum_t)sockets[i].type },
		};
		rc = seccomp_rule_add_array(f, SCMP_ACT_ALLOW, SCMP_SYS(socket), 2, both);
	}
	return -rc;
}

/* Allows every ioctl(2) except the one that puts input into a terminal. */
static int
add_ioctl(scmp_filter_ctx f)
{
	struct scmp_arg_cmp other[] = { { 1, SCMP_CMP_NE, TIOCSTI, 0 } };

	return -seccomp_rule_add_array(f, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1, other);
}

/* Allows signals to threads of this process, prlimit(2) of this process, and setpriority(2)
 * of single processes (PRIO_PROCESS). */
static int
add_own(scmp_filter_ctx f)
{
	int rc = callfilter_allow_arg(
	    f, SCMP_SYS(tgkill), 0, SCMP_CMP_EQ, (uint64_t)getpid(), 0);

	if (rc == 0)
		rc = callfilter_allow_arg(f, SCMP_SYS(prlimit64), 0, SCMP_CMP_EQ, 0, 0);
	return rc == 0 ? callfilter_allow_arg(f, SCMP_SYS(setpriority), 0, SCMP_CMP_EQ, 0, 0)
	               : rc;
}

static int
add_rules(scmp_filter_ctx f)
{
	int rc = add_clone(f);

	if (rc == 0)
		rc = add_socket(f);
	if (rc == 0)
		rc = add_ioctl(f);
	/* The filter becomes a tree, which is faster: a server that sends packets makes many
	 * calls. */
	if (rc == 0)
		(void)seccomp_attr_set(f, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	return rc == 0 ? add_own(f) : rc;
}

int
rights_limit_calls(void)
{
	scmp_filter_ctx f;
	int rc = callfilter_begin(&f, allowed, sizeof allowed / sizeof allowed[0]);

	return rc == 0 ? callfilter_load(f, add_rules(f)) : rc;
}
