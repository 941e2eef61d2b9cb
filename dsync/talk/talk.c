/* talk.c: sends and receives the messages of one connection.  relay.c, dial.c and the server's
 * session.c call this, each connection in one thread. */
#include "dsync/talk/talk.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/net/await.h"

/* A machine that has vanished is noticed after a minute, whether something is being sent to it
 * (GONE_MS) or not (IDLE_S + PROBES * PROBE_S); a reboot of a switch in between does not end anything. */
enum { IDLE_S = 30, PROBE_S = 10, PROBES = 3, GONE_MS = 60000 };

struct talk {
	int fd;
	struct tls_wire *wire;
	uint8_t out[FRAME_BYTES_MAX]; /* the message that is sent */
	size_t out_bytes, out_sent;
	uint8_t in[FRAME_BYTES_MAX]; /* messages that arrive */
	size_t in_bytes, in_taken;   /* taken: the bytes of messages that were given out */
};

int
talk_new(struct talk **out, int fd, struct tls_wire *wire, struct err *e)
{
	struct talk *t = calloc(1, sizeof *t);

	*out = t;
	if (t == NULL) {
		tls_wire_free(wire);
		close(fd);
		return err_nomem(e, "a connection");
	}
	t->fd = fd;
	t->wire = wire;
	return 0;
}

void
talk_free(struct talk *t)
{
	if (t == NULL)
		return;
	tls_wire_free(t->wire);
	close(t->fd);
	free(t);
}

int
talk_fd(const struct talk *t)
{
	return t->fd;
}

void
talk_queue(struct talk *t, enum talk_kind kind, const void *payload, size_t n)
{
	struct wr w = wr_to(t->out, sizeof t->out);

	assert(talk_is_sent(t));
	frame_put(&w, (uint8_t)kind, payload, n);
	assert(wr_ok(&w));
	t->out_bytes = wr_len(&w);
	t->out_sent = 0;
}

bool
talk_is_sent(const struct talk *t)
{
	return t->out_sent == t->out_bytes;
}

static int
cut(struct err *e)
{
	return err_set(e, ERR_IO, "the connection was closed before the end");
}

int
talk_flush(struct talk *t, struct err *e)
{
	while (!talk_is_sent(t)) {
		ssize_t n =
		    tls_wire_send(t->wire, t->out + t->out_sent, t->out_bytes - t->out_sent);
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0)
			return err_os(e, "the connection");
		if (n == 0)
			return cut(e);
		t->out_sent += (size_t)n;
	}
	return 0;
}

int
talk_receive(struct talk *t, struct frame *f, struct err *e)
{
	for (;;) {
		struct rd r = rd_from(t->in + t->in_taken, t->in_bytes - t->in_taken);
		int rc = frame_get(&r, f);
		if (rc < 0)
			return err_set(e, ERR_FORMAT, "the connection: a message is too long");
		if (rc > 0) {
			t->in_taken += r.off;
			return 1;
		}
		memmove(t->in, t->in + t->in_taken, t->in_bytes - t->in_taken);
		t->in_bytes -= t->in_taken;
		t->in_taken = 0;
		ssize_t n = tls_wire_recv(t->wire, t->in + t->in_bytes, sizeof t->in - t->in_bytes);
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0)
			return err_os(e, "the connection");
		if (n == 0)
			return cut(e);
		t->in_bytes += (size_t)n;
	}
}

/* Wait until the socket is ready for `what`, but not longer than until the time end_us. */
static int
await(const struct talk *t, short what, uint64_t end_us, struct err *e)
{
	return await_socket(
	    t->fd, what, end_us, "the other side of the connection does not answer", e);
}

int
talk_shake(struct talk *t, uint64_t limit_us, struct err *e)
{
	uint64_t end = clock_us() + limit_us;
	bool writes;
	int rc;

	while ((rc = tls_wire_shake(t->wire, &writes)) == 0)
		if (await(t, writes ? POLLOUT : POLLIN, end, e) != 0)
			return -1;
	if (rc < 0)
		return err_set(e, ERR_REFUSED, "the other side has another --key, or none");
	return 0;
}

int
talk_say(struct talk *t, enum talk_kind kind, const void *payload, size_t n,
    uint64_t limit_us, struct err *e)
{
	uint64_t end = clock_us() + limit_us;

	talk_queue(t, kind, payload, n);
	for (;;) {
		if (talk_flush(t, e) != 0)
			return -1;
		if (talk_is_sent(t))
			return 0;
		if (await(t, POLLOUT, end, e) != 0)
			return -1;
	}
}

int
talk_hear(struct talk *t, struct frame *f, uint64_t limit_us, struct err *e)
{
	uint64_t end = clock_us() + limit_us;
	int rc;

	while ((rc = talk_receive(t, f, e)) == 0)
		if (await(t, POLLIN, end, e) != 0)
			return -1;
	return rc < 0 ? -1 : 0;
}

void
talk_hang_up(struct talk *t, uint64_t limit_us)
{
	uint64_t end = clock_us() + limit_us;
	ssize_t n = 1;
	struct err e;

	shutdown(t->fd, SHUT_WR);
	while (n != 0 && await(t, POLLIN, end, &e) == 0) {
		n = recv(t->fd, t->in, sizeof t->in, 0);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return;
	}
}

void
talk_notice_silence(int fd)
{
	static const struct {
		int level, name, value;
	} all[] = {
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ IPPROTO_TCP, TCP_NODELAY, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, IDLE_S },
		{ IPPROTO_TCP, TCP_KEEPINTVL, PROBE_S },
		{ IPPROTO_TCP, TCP_KEEPCNT, PROBES },
		{ IPPROTO_TCP, TCP_USER_TIMEOUT, GONE_MS },
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		(void)setsockopt(fd, all[i].level, all[i].name, &all[i].value, sizeof all[i].value);
}
