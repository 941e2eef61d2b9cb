/* Waiting for a socket: it is ready, the time is over, the work is to end, nobody listens.  What is
 * waited for may be the verdict about an upload, or never come. */
#include "common/net/await.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/cancel.h"
#include "common/base/clock.h"
#include "common/net/ask.h"
#include "tests/t.h"

enum { LONG_US = 60000000, SHORT_US = 300000 };

static void
test_ready(int pair[2])
{
	struct err e;

	T_CHECK(await_socket(pair[0], POLLOUT, clock_us() + LONG_US, "late", &e) == 0);
	T_CHECK(write(pair[1], "x", 1) == 1);
	T_CHECK(await_socket(pair[0], POLLIN, clock_us() + LONG_US, "late", &e) == 0);
}

static void
test_late(int pair[2])
{
	uint64_t end = clock_us() + SHORT_US;
	struct err e;

	T_CHECK(await_socket(pair[1], POLLIN, end, "nothing came", &e) == -1);
	T_CHECK(clock_us() >= end);
	T_CHECK(e.kind == ERR_IO && strcmp(e.text, "nothing came") == 0);
}

static void
test_cancelled(int pair[2])
{
	struct cancel c = { .signal = SIGTERM };
	struct err e;

	cancel_work_for(&c);
	T_CHECK(await_socket(pair[1], POLLIN, clock_us() + LONG_US, "late", &e) == -1);
	T_CHECK(e.kind == ERR_CANCELLED);
	cancel_work_for(NULL);
}

/* Connects to a port of this computer on which somebody listens, or nobody. */
static int
connects(bool listens, struct err *e)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof at;
	int server = socket(AF_INET, SOCK_STREAM, 0);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	T_CHECK(bind(server, (struct sockaddr *)&at, sizeof at) == 0);
	T_CHECK(getsockname(server, (struct sockaddr *)&at, &len) == 0);
	if (listens)
		T_CHECK(listen(server, 1) == 0);
	int rc = connect(fd, (struct sockaddr *)&at, sizeof at);
	if (rc == 0 || errno == EINPROGRESS)
		rc = await_connection(fd, clock_us() + LONG_US, e);
	else
		rc = err_os(e, "at once");
	close(fd);
	close(server);
	return rc;
}

static void
test_connection(void)
{
	struct err e = { 0 };

	T_CHECK(connects(true, &e) == 0);
	T_CHECK(connects(false, &e) == -1);
	T_CHECK(e.kind == ERR_IO && strstr(e.text, "Connection refused") != NULL);
}

/* What ask_verdict() returns when the server has sent this and closed the connection, in order or
 * with bytes of the image that it has not read. */
static int
verdict(const void *said, size_t n, bool in_order, struct err *e)
{
	int pair[2];

	T_CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	T_CHECK(n == 0 || write(pair[1], said, n) == (ssize_t)n);
	if (!in_order)
		T_CHECK(write(pair[0], "image", 5) == 5);
	close(pair[1]);
	int rc = ask_verdict(pair[0], e);
	close(pair[0]);
	return rc;
}

static void
test_verdict(void)
{
	struct master_verdict v = { .taken = true };
	uint8_t bytes[MASTER_VERDICT_BYTES];
	struct err e;

	master_verdict_write(&v, bytes);
	T_CHECK(verdict(bytes, sizeof bytes, true, &e) == 1);
	v = (struct master_verdict){ .taken = false, .reason = "too long" };
	master_verdict_write(&v, bytes);
	T_CHECK(verdict(bytes, sizeof bytes, true, &e) == -1);
	T_CHECK(e.kind == ERR_REFUSED && strstr(e.text, "too long") != NULL);
	T_CHECK(verdict(NULL, 0, true, &e) == 0);
	/* A part of a verdict is none, nor is what begins in another way. */
	T_CHECK(verdict(bytes, 3, true, &e) == -1);
	T_CHECK(e.kind == ERR_FORMAT);
	memset(bytes, 0x7f, sizeof bytes);
	T_CHECK(verdict(bytes, sizeof bytes, true, &e) == -1);
	T_CHECK(e.kind == ERR_FORMAT);
	/* A connection that breaks is no server without verdicts. */
	T_CHECK(verdict(NULL, 0, false, &e) == -1);
	T_CHECK(e.kind == ERR_IO);
}

int
main(void)
{
	int pair[2];

	T_CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	test_ready(pair);
	test_late(pair);
	test_cancelled(pair);
	test_connection();
	test_verdict();
	close(pair[0]);
	close(pair[1]);
	return t_done();
}
