/* dial.c: connects to `dsync serve`.  call.c calls dial(), in the thread of the connection. */
#include "dsync/talk/dial.h"

#include <errno.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/net/await.h"

/* TCP tries four more times to connect within CONNECT_US (after 1, 3, 7 and 15 s). */
enum { CONNECT_US = 20000000, SHAKE_US = 20000000 };

/* Connect to one address. */
static int
connect_to(const struct addrinfo *a, int *out, struct err *e)
{
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int rc;

	if (fd < 0)
		return err_os(e, "a socket");
	talk_notice_silence(fd);
	if (connect(fd, a->ai_addr, a->ai_addrlen) == 0 || errno == EINPROGRESS)
		rc = await_connection(fd, clock_us() + CONNECT_US, e);
	else
		rc = err_os(e, "cannot connect");
	if (rc == 0)
		*out = fd;
	else
		close(fd);
	return rc;
}

/* Connect to the first address that answers. */
static int
connect_any(const char *host, const char *port, int *fd, struct err *e)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV }, *all;
	int rc = getaddrinfo(host, port, &hints, &all);

	if (rc != 0)
		return err_set(e, ERR_ABSENT, "%s", gai_strerror(rc));
	rc = -1;
	for (const struct addrinfo *a = all; a != NULL && rc != 0; a = a->ai_next) {
		rc = connect_to(a, fd, e);
		if (rc != 0 && e->kind == ERR_CANCELLED)
			break;
	}
	freeaddrinfo(all);
	return rc == 0 ? 0 : err_ctx(e, "TCP port %s", port);
}

int
dial(struct talk **out, const char *host, const char *port, struct tls *key, struct err *e)
{
	struct tls_wire *wire;
	int fd = -1;

	*out = NULL;
	if (connect_any(host, port, &fd, e) != 0)
		return -1;
	wire = tls_wire_new(key, fd, true);
	if (wire == NULL) {
		close(fd);
		return err_nomem(e, "a connection");
	}
	if (talk_new(out, fd, wire, e) != 0)
		return -1;
	if (talk_shake(*out, SHAKE_US, e) == 0)
		return 0;
	talk_free(*out);
	*out = NULL;
	return -1;
}
