/* Connections that cannot be accepted, because this process has no descriptor left: the listener is left
 * alone for a while, so that nobody asks for them without end, and they are accepted later. */
#include "common/net/accepting.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "mfrisbeed/master/conns.h"
#include "mfrisbeed/master/upload.h"
#include "tests/unit/scratch.h"
#include "tests/unit/starve.h"

enum { WAKE_MS = 200, SPIN_US = 1000000 };
static const uint8_t loopback[4] = { 127, 0, 0, 1 };

static int
listen_here(struct sockaddr_in *at)
{
	socklen_t len = sizeof *at;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	*at = (struct sockaddr_in){ .sin_family = AF_INET };
	memcpy(&at->sin_addr, loopback, sizeof loopback);
	T_CHECK(bind(fd, (struct sockaddr *)at, sizeof *at) == 0 && listen(fd, 4) == 0);
	T_CHECK(getsockname(fd, (struct sockaddr *)at, &len) == 0);
	return fd;
}

static int
call(const struct sockaddr_in *at)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	T_CHECK(connect(fd, (const struct sockaddr *)at, sizeof *at) == 0);
	return fd;
}

static void
test_accepting(void)
{
	struct sockaddr_in at, from;
	struct accepting a = { .listener = listen_here(&at) };
	socklen_t len = sizeof from;

	T_CHECK(accepting_next(&a, &from, &len) == -1);
	T_CHECK(accepting_fd(&a) == a.listener); /* that nobody calls is no reason to rest */
	int caller = call(&at);
	struct rlimit usual = starve();
	T_CHECK(accepting_next(&a, &from, &len) == -1);
	T_CHECK(a.rests_until_us > 0);
	a.rests_until_us = clock_us() + 3600 * UINT64_C(1000000);
	T_CHECK(accepting_fd(&a) == -1);
	a.rests_until_us = clock_us();
	T_CHECK(accepting_fd(&a) == a.listener);
	feed(usual);
	int fd = accepting_next(&a, &from, &len);
	T_CHECK(fd >= 0 && memcmp(&from.sin_addr, loopback, sizeof loopback) == 0);
	close(fd);
	close(caller);
	close(a.listener);
}

static void
test_master(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	const struct answerer nobody = { 0 };
	struct conns *x;
	struct loop l;
	struct err e;
	char c;

	memcpy(&at.sin_addr, loopback, sizeof loopback);
	T_CHECK(loop_open(&l, &e) == 0);
	T_CHECK(conns_new(&x, &l, loopback, 0, &nobody, &e) == 0);
	at.sin_port = htons(conns_port(x));
	int caller = call(&at);
	struct rlimit usual = starve();
	uint64_t began = clock_us();
	unsigned turns = 0;
	for (; clock_us() < began + SPIN_US; turns++)
		loop_once(&l, WAKE_MS);
	/* It has waited in each second turn, or it was late. */
	T_CHECK(turns <= 2 * SPIN_US / ACCEPTING_REST_US + 2);
	feed(usual);
	/* It is accepted, and is no request. */
	T_CHECK(send(caller, "GET / HTTP/1.1\r\n", 16, 0) == 16);
	while (recv(caller, &c, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN)
		loop_once(&l, WAKE_MS);
	conns_free(x);
	loop_close(&l);
	close(caller);
}

static uint64_t
cpu_us(void)
{
	struct timespec t;

	T_CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) == 0);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void
test_upload(void)
{
	struct upload_request q = { .name = "x", .path = in_scratch("x"), .bytes_max = 1000 };
	struct sockaddr_in at = { .sin_family = AF_INET };
	int caller = socket(AF_INET, SOCK_STREAM, 0);
	struct uploads *x;
	uint16_t port;
	struct err e;

	memcpy(q.from, loopback, sizeof q.from);
	memcpy(q.here, loopback, sizeof q.here);
	memcpy(&at.sin_addr, loopback, sizeof loopback);
	T_CHECK(uploads_new(&x, NULL, NULL, &e) == 0);
	T_CHECK(uploads_begin(x, &q, &port, &e) == 0);
	struct rlimit usual = starve();
	at.sin_port = htons(port);
	T_CHECK(connect(caller, (struct sockaddr *)&at, sizeof at) == 0);
	uint64_t before = cpu_us();
	usleep(SPIN_US);
	T_CHECK(cpu_us() - before < SPIN_US / 20);
	T_CHECK(uploads_has(x, "x"));
	feed(usual);
	T_CHECK(shutdown(caller, SHUT_WR) == 0);
	while (uploads_has(x, "x")) /* it is accepted, and is no image */
		usleep(1000);
	uploads_free(x);
	close(caller);
}

int
main(void)
{
	scratch_init();
	test_accepting();
	test_master();
	test_upload();
	scratch_done();
	return t_done();
}
