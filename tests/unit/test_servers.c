/* Processes of sessions that were saved before the controller was started anew: one that only
 * has the number of a frisbeed which is gone is not taken for it, and goes on. */
#include "controller/sending/servers.h"

#include <sys/wait.h>

#include "tests/unit/scratch.h"

static struct err e;

static int
save(void *arg, struct err *why)
{
	(void)arg, (void)why;
	return 0;
}

static pid_t
stranger(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		alarm(100); /* where this test is killed */
		for (;;)
			pause();
	}
	return pid;
}

int
main(void)
{
	struct orders_config orders = { 0 };
	struct servers_config c = {
		.frisbeed = "/bin/false", .orders = &orders, .save = save
	};
	struct swap_session s = { .id = 7, .state = SWAP_IS_STOPPED, .pid_start = 1 };
	struct swap_session *all = &s;
	struct swap w = { .sessions = &all, .nsessions = 1 };
	struct servers *x = NULL;
	struct loop l;

	scratch_init();
	c.images = c.state = scratch_dir;
	pid_t pid = stranger();
	s.pid = pid;
	T_CHECK(loop_open(&l, &e) == 0);
	T_CHECK(servers_open(&x, &l, &w, &c, &e) == 0);
	servers_settle(x, (struct swap_now){ .us = 1000000 });
	T_CHECK(s.pid == 0);
	T_CHECK(waitpid(pid, NULL, WNOHANG) == 0);
	servers_close(x);
	loop_close(&l);
	kill(pid, SIGKILL);
	T_CHECK(waitpid(pid, NULL, 0) == pid);
	scratch_done();
	return t_done();
}
