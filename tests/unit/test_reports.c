/* Reports of nodes over TCP: each is answered when it is saved, also one whose sender has nothing more
 * to send, as nc says at once; a sender who is gone is forgotten. */
#include <arpa/inet.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/net/accepting.h"
#include "controller/nodes/reports.h"
#include "tests/t.h"
#include "tests/unit/starve.h"

enum {
	LIMIT_MS = 60000, /* nothing here takes nearly so long */
	TURN_MS = 10,
};

static const uint8_t here[4] = { 127, 0, 0, 1 };
static const char line[] = "report 52-54-00-00-00-0a 5a17-7-1 done sda is loaded\n";
static unsigned taken;

static int
take(void *arg, const struct swap_report *r, const uint8_t ip[4], struct err *e)
{
	(void)arg;
	if (strcmp(r->phase, "unknown") == 0)
		return err_set(e, ERR_ABSENT, "no node has this MAC address");
	taken += strcmp(r->phase, "done") == 0 && memcmp(ip, here, 4) == 0;
	return 0;
}

static int
connect_to(const struct reports *r)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(reports_port(r)) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	memcpy(&to.sin_addr, here, 4);
	return fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0 ? fd : -1;
}

static bool
can_be_read(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

/* Sends this as nc does; when this returns, the loop has taken it, or has answered it, or has closed
 * the connection. */
static int
report(const struct reports *r, struct loop *l, const char *text)
{
	const uint64_t before = reports_taken(r);
	int fd = connect_to(r);

	if (send(fd, text, strlen(text), 0) != (ssize_t)strlen(text) || shutdown(fd, SHUT_WR) != 0)
		return -1;
	for (int i = 0; i < LIMIT_MS / TURN_MS && reports_taken(r) == before && !can_be_read(fd); i++)
		loop_once(l, TURN_MS);
	loop_once(l, TURN_MS); /* the end of what nc sends changes nothing */
	return fd;
}

/* What has come, up to the end of the connection. */
static const char *
answer_of(int fd)
{
	static char text[100];
	size_t n = 0;
	ssize_t got;

	while ((got = recv(fd, text + n, sizeof text - 1 - n, 0)) > 0)
		n += (size_t)got;
	text[n] = '\0';
	close(fd);
	return text;
}

/* While there is no descriptor for a connection, the loop is not woken for it again and again. */
static void
test_no_descriptor(struct reports *r, struct loop *l)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(reports_port(r)) };
	const uint64_t before = reports_taken(r);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct rlimit usual = starve();
	struct epoll_event ev;

	memcpy(&to.sin_addr, here, 4);
	T_CHECK(connect(fd, (struct sockaddr *)&to, sizeof to) == 0);
	T_CHECK(send(fd, line, strlen(line), 0) == (ssize_t)strlen(line));
	loop_once(l, LIMIT_MS);
	T_CHECK(epoll_wait(l->epoll, &ev, 1, 0) == 0);
	feed(usual);
	usleep(ACCEPTING_REST_US);
	for (int i = 0; i < LIMIT_MS / TURN_MS && reports_taken(r) == before; i++)
		loop_once(l, TURN_MS);
	T_CHECK(reports_taken(r) == before + 1);
	reports_answer(r, 0, NULL);
	close(fd);
}

int
main(void)
{
	struct reports *r = NULL;
	struct loop l;
	struct err e;

	T_CHECK(loop_open(&l, &e) == 0 && reports_open(&r, &l, here, 0, take, NULL, &e) == 0);
	int first = report(r, &l, line), second = report(r, &l, line);
	T_CHECK(taken == 2 && reports_taken(r) == 2);
	char none;
	T_CHECK(recv(first, &none, 1, MSG_DONTWAIT) < 0); /* not before it is saved */
	reports_answer(r, 1764000000, NULL);
	T_CHECK(strcmp(answer_of(first), "ok 1764000000\n") == 0 && strcmp(answer_of(second), "ok 1764000000\n") == 0);
	int unsaved = report(r, &l, line);
	reports_answer(r, 0, "the state cannot be saved");
	T_CHECK(strcmp(answer_of(unsaved), "failed: the state cannot be saved\n") == 0);
	T_CHECK(strstr(answer_of(report(r, &l, "report 52-54-00-00-00-0a - unknown x\n")), "failed: no node") != NULL);
	T_CHECK(answer_of(report(r, &l, "report 52-54"))[0] == '\0'); /* cut off */
	/* One that resets its connection is forgotten before it is answered. */
	int gone = report(r, &l, line);
	T_CHECK(setsockopt(gone, SOL_SOCKET, SO_LINGER, &(struct linger){ 1, 0 }, sizeof(struct linger)) == 0 && close(gone) == 0);
	loop_once(&l, LIMIT_MS);
	uint64_t refused = reports_refused(r);
	reports_answer(r, 0, "nobody is there");
	T_CHECK(reports_refused(r) == refused);
	test_no_descriptor(r, &l);
	reports_close(r);
	loop_close(&l);
	return t_done();
}
