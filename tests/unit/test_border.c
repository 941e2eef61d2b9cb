/* A border at a Unix socket: a caller is known by the number of its user, and one whose user the
 * kernel does not name is nobody, not root. */
#include "common/net/border.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/unit/scratch.h"

static bool unnamed; /* the kernel does not name the user */

/* This program's getsockopt(), in place of the C library's. */
int
getsockopt(int fd, int level, int what, void *restrict value, socklen_t *restrict len)
{
	if (unnamed && what == SO_PEERCRED)
		return -1;
	return (int)syscall(SYS_getsockopt, fd, level, what, value, len);
}

static bool
came(void *arg, struct caller *c)
{
	memcpy(arg, c->from, sizeof(uid_t));
	return false;
}

static void
ready(void *arg, struct caller *c, uint32_t events)
{
	(void)arg, (void)c, (void)events;
}

/* Calls the border once.  Returns the number of the user that it has seen. */
static uid_t
call(struct loop *loop, const char *path, uid_t *seen)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
	T_CHECK(connect(fd, (struct sockaddr *)&at, sizeof at) == 0);
	loop_once(loop, -1);
	close(fd);
	return *seen;
}

int
main(void)
{
	uid_t seen = 12345;
	struct border_config c = { .limits = { 4, 4, 60000000 },
		.caller_bytes = sizeof(struct caller),
		.came = came,
		.ready = ready,
		.arg = &seen };
	struct loop loop;
	struct border *b;
	struct err e;

	scratch_init();
	c.path = in_scratch("socket");
	T_CHECK(loop_open(&loop, &e) == 0 && border_open(&b, &loop, &c, &e) == 0);
	T_CHECK(call(&loop, c.path, &seen) == getuid());
	unnamed = true;
	T_CHECK(call(&loop, c.path, &seen) == (uid_t)-1);
	border_close(b);
	loop_close(&loop);
	return t_done();
}
