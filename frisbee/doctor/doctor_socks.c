/* doctor_socks.c: the sockets of the examination: opens them, sends packets, and
 * receives packets with their TTL.  All files of the doctor call this, in the
 * program's only thread. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/errqueue.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "frisbee/doctor/doctor_exam.h"

enum {
	BUFFER_BYTES = 1 << 20, /* room for a burst, and for the packets of a session beside it */
	UDP_IP_BYTES = 28,
};

static struct sockaddr_in
address(const uint8_t addr[4], uint16_t port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(port) };

	memcpy(&sin.sin_addr, addr, 4);
	return sin;
}

int
exam_open_at(const uint8_t addr[4], uint16_t port, int ttl, struct err *e)
{
	struct sockaddr_in sin = address(addr, port);
	int on = 1, whole = IP_PMTUDISC_PROBE, bytes = BUFFER_BYTES;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return err_os(e, "cannot make a socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	/* Only root may exceed the limit of the system. */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
	setsockopt(fd, IPPROTO_IP, IP_RECVTTL, &on, sizeof on);
	setsockopt(fd, IPPROTO_IP, IP_RECVERR, &on, sizeof on);
	setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &whole, sizeof whole);
	setsockopt(fd, IPPROTO_IP, IP_TTL, &ttl, sizeof ttl);
	if (bind(fd, (struct sockaddr *)&sin, sizeof sin) != 0) {
		err_os(e, "cannot use port %u", port);
		close(fd);
		return -1;
	}
	return fd;
}

int
exam_open_group(
    const struct exam *x, const struct netif *n, uint16_t port, struct err *e)
{
	struct ip_mreqn m = { .imr_ifindex = (int)n->index };
	int ttl = DOCTOR_TTL, off = 0,
	    fd = exam_open_at(x->f->group, port, EXAM_TTL_DIRECT, e);

	if (fd < 0)
		return -1;
	memcpy(&m.imr_multiaddr, x->f->group, 4);
	memcpy(&m.imr_address, n->addr, 4);
	setsockopt(fd, IPPROTO_IP, IP_MULTICAST_TTL, &ttl, sizeof ttl);
	setsockopt(fd, IPPROTO_IP, IP_MULTICAST_LOOP, &off, sizeof off);
	setsockopt(fd, IPPROTO_IP, IP_MULTICAST_ALL, &off, sizeof off);
	if (setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &m, sizeof m) == 0 &&
	    setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &m, sizeof m) == 0)
		return fd;
	err_os(e, "%s: cannot join the group", n->name);
	close(fd);
	return -1;
}

int
exam_open_plain(const struct exam *x, struct err *e)
{
	static const uint8_t any[4];
	int on = 1, fd = exam_open_at(any, x->f->port, EXAM_TTL_DIRECT, e);

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &on, sizeof on);
	setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof on);
	on = 0;
	setsockopt(fd, IPPROTO_IP, IP_MULTICAST_ALL, &on, sizeof on);
	return fd;
}

static void
send_raw(struct exam *x, int fd, const struct sockaddr_in *to, const void *pkt, size_t len)
{
	/* An error may be that of an earlier packet, so a second try follows. */
	for (int i = 0; i < 2 && fd >= 0; i++) {
		if (sendto(fd, pkt, len, 0, (const struct sockaddr *)to, sizeof *to) >=
		    0)
			return;
		x->f->refused_out |= errno == EPERM;
		if (fd != x->direct)
			continue;
		x->f->refused |= errno == ECONNREFUSED;
		x->f->unreachable |= errno == EHOSTUNREACH;
	}
}

/* Seals a packet as sock_auth.c does, and sends it.  Before a server has answered HELLO
 * nothing can be sealed: the packet is dropped, and the examination asks again later. */
static void
send_sealed(struct exam *x, int fd, const struct sockaddr_in *to, bool first,
    const void *pkt, size_t len)
{
	uint8_t out[AUTH_HEADER_BYTES + PROBE_BYTES_MAX], hello[AUTH_PACKET_MAX];
	struct gmac_part part = { pkt, len };
	struct err ignored;

	if (first && auth_wants_hello(x->auth))
		send_raw(x, fd, to, hello, auth_put_hello(x->auth, hello));
	if (!auth_may_seal(x->auth) || len > PROBE_BYTES_MAX ||
	    auth_seal(x->auth, first ? AUTH_FIRST : AUTH_SECOND, &part, 1, out,
		&ignored) != 0)
		return;
	memcpy(out + AUTH_HEADER_BYTES, pkt, len);
	send_raw(x, fd, to, out, AUTH_HEADER_BYTES + len);
}

void
exam_send(struct exam *x, int fd, const uint8_t addr[4], uint16_t port, const void *pkt,
    size_t len)
{
	struct sockaddr_in to = address(addr, port);

	if (auth_is_on(x->auth))
		send_sealed(x, fd, &to, port == x->f->port, pkt, len);
	else
		send_raw(x, fd, &to, pkt, len);
}

/* Takes one packet, with the addresses it came from and went to and its TTL.  Returns its
 * bytes; -1: there is none. */
static ssize_t
receive(int fd, struct heard *h)
{
	struct sockaddr_in from = { 0 };
	struct iovec iov = { h->buf, sizeof h->buf };
	union {
		char bytes[CMSG_SPACE(sizeof(int)) +
			   CMSG_SPACE(sizeof(struct in_pktinfo))];
		struct cmsghdr align;
	} control;
	struct msghdr m = { .msg_name = &from,
		.msg_namelen = sizeof from,
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof control };
	ssize_t n = fd < 0 ? -1 : recvmsg(fd, &m, MSG_DONTWAIT);

	if (n < 0)
		return -1;
	h->port = ntohs(from.sin_port);
	memcpy(h->from, &from.sin_addr, 4);
	h->ttl = -1;
	memset(h->to, 0, sizeof h->to);
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c != NULL; c = CMSG_NXTHDR(&m, c)) {
		struct in_pktinfo info;
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TTL)
			memcpy(&h->ttl, CMSG_DATA(c), sizeof h->ttl);
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
			memcpy(&info, CMSG_DATA(c), sizeof info);
			memcpy(h->to, &info.ipi_addr, sizeof h->to);
		}
	}
	return n;
}

int
exam_error(int fd)
{
	_Alignas(struct cmsghdr) char control[256];
	uint8_t packet;
	struct iovec iov = { &packet, sizeof packet };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof control };
	struct sock_extended_err why = { .ee_errno = EIO };

	if (fd < 0 || recvmsg(fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
		return 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c != NULL; c = CMSG_NXTHDR(&m, c))
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR)
			memcpy(&why, CMSG_DATA(c), sizeof why);
	return (int)why.ee_errno;
}

bool
exam_receive(struct exam *x, int fd, struct heard *h, unsigned *left)
{
	bool first = fd == x->first, second = fd == x->second;
	enum auth_port port = second || fd == x->direct ? AUTH_SECOND : AUTH_FIRST;
	ssize_t n;

	do {
		if (*left == 0) {
			errno = EAGAIN;
			return false;
		}
		--*left;
		n = receive(fd, h);
		if (n < 0)
			return false;
		/* Any packet that came here was not dropped by a firewall. */
		if (first || second)
			x->f->at[second].took += exam_is_server(x, h->from);
		h->ip_bytes = (size_t)n + UDP_IP_BYTES;
		h->pkt = auth_open(
		    x->auth, port, h->buf, (size_t)n, h->from, h->port, &h->len);
	} while (h->pkt == NULL);
	return true;
}
