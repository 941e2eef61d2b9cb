/* probes.c: recognises packets of "frisbee --doctor" and answers them (probes.h).  loop.c
 * calls it in the thread of its stream. */
#include "frisbeed/serve/probes.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "frisbeed/server/server.h"
#include "frisbeed/server/server_probe.h"

enum {
	/* packets that are handled before it is the session's turn */
	TURN = 16,
	BUFFER_BYTES = 262144, /* of the socket, which drops packets that have no room */
};

struct probes {
	struct sock *second;
	const struct server *server;
	int fd;
	struct server_probe engine;
};

/* Opens the socket for direct probes.  Its packets are never fragmented, because a probe asks
 * whether a packet of its size passes. */
static void
open_direct(struct probes *p, const uint8_t addr[4])
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
		.sin_port = htons(sock_port(p->second)) };
	int whole = IP_PMTUDISC_PROBE, bytes = BUFFER_BYTES, ttl = 64;

	memcpy(&sin.sin_addr, addr, 4);
	p->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (p->fd < 0)
		return;
	setsockopt(p->fd, IPPROTO_IP, IP_MTU_DISCOVER, &whole, sizeof whole);
	setsockopt(p->fd, IPPROTO_IP, IP_TTL, &ttl, sizeof ttl);
	setsockopt(p->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
	if (bind(p->fd, (struct sockaddr *)&sin, sizeof sin) != 0) {
		close(p->fd);
		p->fd = -1;
	}
}

struct probes *
probes_new(const struct sock *first, struct sock *second, const struct server *server,
    uint32_t session, uint64_t now_us)
{
	struct probes *p = second != NULL ? calloc(1, sizeof *p) : NULL;

	if (p == NULL)
		return NULL;
	p->second = second;
	p->server = server;
	open_direct(p, sock_netif(first)->addr);
	server_probe_init(&p->engine, sock_netif(first)->addr, sock_dest(first),
	    sock_port(first), session, now_us);
	return p;
}

void
probes_free(struct probes *p)
{
	if (p == NULL)
		return;
	if (p->fd >= 0)
		close(p->fd);
	free(p);
}

void
probes_moved(struct probes *p, const uint8_t addr[4])
{
	if (p == NULL || memcmp(p->engine.srcip, addr, 4) == 0)
		return;
	server_probe_moved(&p->engine, addr);
	if (p->fd >= 0)
		close(p->fd);
	open_direct(p, addr);
}

int
probes_fd(const struct probes *p)
{
	return p != NULL ? p->fd : -1;
}

/* A packet that the network has no room for is lost, as any packet may be. */
static void
send_direct(struct probes *p, const void *pkt, size_t len, const struct sockaddr_in *to)
{
	uint8_t header[AUTH_HEADER_BYTES];
	struct iovec iov[] = { { header, 0 }, { (void *)(uintptr_t)pkt, len } };
	struct msghdr m = { .msg_name = (void *)(uintptr_t)to,
		.msg_namelen = sizeof *to,
		.msg_iov = iov,
		.msg_iovlen = 2 };
	struct err ignored;

	if (sock_seal(p->second, pkt, len, header, &iov[0].iov_len, &ignored) == 0)
		(void)sendmsg(p->fd, &m, 0);
}

/* Each answer has what was sent until now: with an older number, blocks that came
 * before it would seem to have been sent after it. */
static void
answer(struct probes *p, uint64_t now_us, const void *pkt, size_t len,
    const struct sockaddr_in *from, bool by_group)
{
	struct server_stats st = server_stats(p->server);
	struct server_probe_answer out[2];
	struct err ignored;

	server_probe_sent(
	    &p->engine, (uint32_t)(st.blocks_sent + st.parity_sent + st.urgent_sent));
	unsigned n = server_probe_input(&p->engine, now_us, pkt, len,
	    (const uint8_t *)&from->sin_addr, by_group, out);

	for (unsigned i = 0; i < n; i++)
		if (out[i].to_group) {
			(void)sock_send(p->second, out[i].pkt, out[i].len, &ignored);
			server_probe_mute(&p->engine, sock_away(p->second) != 0);
		} else if (p->fd >= 0)
			send_direct(p, out[i].pkt, out[i].len, from);
}

bool
probes_input(struct probes *p, uint64_t now_us, const void *pkt, size_t len,
    const uint8_t from[4])
{
	struct sockaddr_in to = { .sin_family = AF_INET };

	if (p == NULL || !probe_is(pkt, len))
		return false;
	/* sock_receive() gives only packets that come from the second port. */
	to.sin_port = htons(sock_port(p->second));
	memcpy(&to.sin_addr, from, 4);
	answer(p, now_us, pkt, len, &to, true);
	return true;
}

void
probes_receive(struct probes *p, uint64_t now_us)
{
	uint8_t pkt[AUTH_HEADER_BYTES + PROBE_BYTES_MAX + 1];
	struct sockaddr_in from;

	for (int i = 0; p != NULL && p->fd >= 0 && i < TURN; i++) {
		socklen_t fromlen = sizeof from;
		ssize_t n = recvfrom(p->fd, pkt, sizeof pkt, MSG_DONTWAIT,
		    (struct sockaddr *)&from, &fromlen);
		if (n < 0)
			return;
		size_t inner;
		const uint8_t *probe =
		    sock_unseal(p->second, pkt, (size_t)n, &from, &inner);
		if (probe != NULL && probe_is(probe, inner))
			answer(p, now_us, probe, inner, &from, false);
	}
}
