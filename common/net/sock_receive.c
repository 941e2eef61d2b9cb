/* sock_receive.c: all datagrams that have arrived are received.  The kernel joins datagrams, and
 * they are taken apart here.  The loops of loads, sessions and neighbour.c call this, in the
 * thread that has the socket. */
#include <errno.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/socket.h>

#include "common/net/sock_impl.h"

enum {
	RECEIVE_ROUNDS = 8,
	/* The most packets in a row that one call passes over because they are not of the
	 * session: a sender of many cannot keep the caller here. */
	NOT_OURS_MAX = 256,
};

/* The length of each datagram that the kernel has joined; 0: it has joined none. */
static size_t
segment_bytes(struct msghdr *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c != NULL; c = CMSG_NXTHDR(m, c)) {
		int size;
		if (c->cmsg_level != IPPROTO_UDP || c->cmsg_type != UDP_GRO)
			continue;
		memcpy(&size, CMSG_DATA(c), sizeof size);
		return size > 0 ? (size_t)size : 0;
	}
	return 0;
}

struct receive_slot {
	struct sockaddr_in from;
	struct iovec iov;
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
};

static void
give_out(struct sock *s, struct mmsghdr *m, const struct receive_slot *slot,
    void (*fn)(void *, const void *, size_t, const uint8_t *), void *arg)
{
	const uint8_t *p = slot->iov.iov_base;
	size_t left = m->msg_len, each = segment_bytes(&m->msg_hdr);

	if (slot->from.sin_port != s->dest.sin_port)
		return; /* all packets of the session come from this port */
	if (each == 0)
		each = left;
	while (left > 0) {
		size_t n = left < each ? left : each, inner;
		const uint8_t *pkt = sock_unseal(s, p, n, &slot->from, &inner);
		if (pkt != NULL)
			fn(arg, pkt, inner, (const uint8_t *)&slot->from.sin_addr);
		p += n;
		left -= n;
	}
}

int
sock_receive(struct sock *s,
    void (*fn)(void *arg, const void *pkt, size_t len, const uint8_t from[4]),
    void *arg, struct err *e)
{
	struct receive_slot slots[RECEIVE_BATCH];
	struct mmsghdr m[RECEIVE_BATCH];

	if (s->fd < 0)
		return 0;
	for (int round = 0; round < RECEIVE_ROUNDS; round++) {
		for (int i = 0; i < RECEIVE_BATCH; i++) {
			slots[i].iov = (struct iovec){
				s->buffers + (size_t)i * RECEIVE_BYTES, RECEIVE_BYTES
			};
			m[i].msg_hdr = (struct msghdr){ .msg_name = &slots[i].from,
				.msg_namelen = sizeof slots[i].from,
				.msg_iov = &slots[i].iov,
				.msg_iovlen = 1,
				.msg_control = &slots[i].control,
				.msg_controllen = sizeof slots[i].control.bytes };
		}
		int n = recvmmsg(s->fd, m, RECEIVE_BATCH, MSG_DONTWAIT, NULL);
		if (n < 0 && !sock_forgives(s, errno))
			return err_os(e, "cannot receive");
		for (int i = 0; i < n; i++)
			give_out(s, &m[i], &slots[i], fn, arg);
		if (n < RECEIVE_BATCH)
			break;
	}
	return sock_shake_hands(s, &s->dest, e);
}

int
sock_receive_from(struct sock *s, void *pkt, size_t cap, uint8_t from[4],
    uint16_t *port, struct err *e)
{
	struct sockaddr_in sin;
	const uint8_t *inner;
	size_t len;
	int looks = 0;

	/* An empty datagram, or one that is only a part of the handshake, is no packet of
	 * the session; the next one is looked at. */
	do {
		if (s->fd < 0 || looks++ == NOT_OURS_MAX)
			return 0;
		socklen_t sinlen = sizeof sin;
		ssize_t n = recvfrom(s->fd, s->buffers, RECEIVE_BYTES, MSG_DONTWAIT,
		    (struct sockaddr *)&sin, &sinlen);
		if (n < 0)
			return sock_forgives(s, errno) ? 0
			                               : err_os(e, "cannot receive");
		inner = sock_unseal(s, s->buffers, (size_t)n, &sin, &len);
		if (sock_shake_hands(s, &sin, e) != 0)
			return -1;
	} while (inner == NULL || len == 0);
	len = len < cap ? len : cap;
	memcpy(pkt, inner, len);
	memcpy(from, &sin.sin_addr, 4);
	*port = ntohs(sin.sin_port);
	return (int)len;
}
