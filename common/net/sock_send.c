/* sock_send.c: many datagrams are sent with one call; where it can, the kernel cuts them from
 * one long send.  A long datagram is sent whole or not at all.  The loops of loads, sessions
 * and neighbour.c call this, in the thread that has the socket. */
#include <assert.h>
#include <errno.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/socket.h>

#include "common/net/sock_impl.h"

/* The most bytes of one long send.  The kernel takes no more than a datagram's 65507 bytes. */
enum { SEGMENTED_BYTES = 65000 };

/* Forbid fragments for a packet of this length, or allow them. */
static void
keep_whole(struct sock *s, size_t bytes)
{
	bool whole = bytes > SOCK_FRAGMENTED_MAX;
	int how = whole ? IP_PMTUDISC_PROBE : IP_PMTUDISC_WANT;

	if (whole == s->whole)
		return;
	s->whole = whole;
	setsockopt(s->fd, IPPROTO_IP, IP_MTU_DISCOVER, &how, sizeof how);
}

bool
sock_was_too_long(struct sock *s)
{
	bool was = s->too_long;

	s->too_long = false;
	return was;
}

int
sock_send_raw(struct sock *s, const void *pkt, size_t len, const struct sockaddr_in *to,
    struct err *e)
{
	if (sock_holds_back(s))
		return 0;
	keep_whole(s, len);
	if (sendto(s->fd, pkt, len, 0, (const struct sockaddr *)to, sizeof *to) >= 0) {
		sock_sent(s);
		return 1;
	}
	if (errno == EMSGSIZE) {
		s->too_long = true;
		return 1;
	}
	return sock_forgives(s, errno) ? 0 : err_os(e, "cannot send");
}

int
sock_send(struct sock *s, const void *pkt, size_t len, struct err *e)
{
	return sock_send_sealed(s, pkt, len, &s->dest, e);
}

int
sock_send_to(struct sock *s, const void *pkt, size_t len, const uint8_t addr[4],
    uint16_t port, struct err *e)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };

	memcpy(&to.sin_addr, addr, 4);
	return sock_send_sealed(s, pkt, len, &to, e);
}

/* The length of a block's packet on the wire. */
static size_t
bytes_of(const struct sock *s, const struct sock_block *b)
{
	return sock_auth_bytes(s) + b->header_bytes + b->data_bytes;
}

/* How many of the blocks the kernel can cut from one long send: all must have the same length,
 * except the last, which may be shorter. */
static unsigned
segments(const struct sock *s, const struct sock_block *b, unsigned n)
{
	size_t each = bytes_of(s, b), total = each;
	unsigned i = 1;

	while (i < n && bytes_of(s, &b[i]) <= each &&
	       total + bytes_of(s, &b[i]) <= SEGMENTED_BYTES) {
		total += bytes_of(s, &b[i++]);
		if (bytes_of(s, &b[i - 1]) < each)
			break;
	}
	return i;
}

enum { PIECES = 3 };

/* The pieces that packets are gathered from. */
struct pieces {
	uint8_t auth[SOCK_BATCH_MAX][AUTH_HEADER_BYTES];
	struct iovec iov[PIECES * SOCK_BATCH_MAX];
};

static int
gather(struct sock *s, struct pieces *p, const struct sock_block *b, unsigned n,
    struct err *e)
{
	size_t auth_bytes = sock_auth_bytes(s);

	for (unsigned i = 0; i < n; i++) {
		struct iovec *iov = &p->iov[PIECES * i];
		iov[0] = (struct iovec){ p->auth[i], auth_bytes };
		iov[1] = (struct iovec){ (void *)(uintptr_t)b[i].header,
			b[i].header_bytes };
		iov[2] =
		    (struct iovec){ (void *)(uintptr_t)b[i].data, b[i].data_bytes };
		if (auth_bytes > 0 && sock_seal_block(s, &b[i], p->auth[i], e) != 0)
			return -1;
	}
	return 0;
}

/* Send with one call and one pass through the kernel, which cuts the datagrams apart. */
static int
send_segmented(
    struct sock *s, const struct sock_block *b, struct pieces *p, unsigned n)
{
	union {
		char bytes[CMSG_SPACE(sizeof(uint16_t))];
		struct cmsghdr align;
	} control = { 0 };
	struct msghdr m = { .msg_name = &s->dest,
		.msg_namelen = sizeof s->dest,
		.msg_iov = p->iov,
		.msg_iovlen = PIECES * n,
		.msg_control = &control,
		.msg_controllen = sizeof control.bytes };
	uint16_t segment = (uint16_t)bytes_of(s, b);

	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = IPPROTO_UDP;
	c->cmsg_type = UDP_SEGMENT;
	c->cmsg_len = CMSG_LEN(sizeof segment);
	memcpy(CMSG_DATA(c), &segment, sizeof segment);
	return sendmsg(s->fd, &m, 0) >= 0 ? (int)n : -1;
}

static int
send_separate(struct sock *s, struct pieces *p, unsigned n)
{
	struct mmsghdr m[SOCK_BATCH_MAX];

	memset(m, 0, sizeof m);
	for (unsigned i = 0; i < n; i++) {
		m[i].msg_hdr = (struct msghdr){ .msg_name = &s->dest,
			.msg_namelen = sizeof s->dest,
			.msg_iov = &p->iov[PIECES * i],
			.msg_iovlen = PIECES };
	}
	return sendmmsg(s->fd, m, n, 0);
}

/* How many of the blocks, from the first on, are of one kind: either they must not be fragmented,
 * or they may be. */
static unsigned
alike(const struct sock *s, const struct sock_block *b, unsigned n)
{
	unsigned i = 1;

	while (i < n && (bytes_of(s, &b[i]) > SOCK_FRAGMENTED_MAX) == s->whole)
		i++;
	return i;
}

int
sock_send_blocks(struct sock *s, const struct sock_block *b, unsigned n, struct err *e)
{
	struct pieces p;
	int sent = -1;

	assert(n > 0 && n <= SOCK_BATCH_MAX);
	if (sock_holds_back(s))
		return 0;
	keep_whole(s, bytes_of(s, b));
	n = alike(s, b, n);
	if (s->gso)
		n = segments(s, b, n);
	if (gather(s, &p, b, n, e) != 0)
		return -1;
	if (s->gso && n > 1) {
		sent = send_segmented(s, b, &p, n);
		if (sent < 0 && !sock_forgives(s, errno))
			s->gso = false; /* this kernel or device cannot do it */
		else if (sent < 0)
			return 0;
	}
	if (sent < 0)
		sent = send_separate(s, &p, n);
	if (sent < 0 && errno == EMSGSIZE) {
		s->too_long = true;
		return 1;
	}
	if (sent < 0)
		return sock_forgives(s, errno) ? 0 : err_os(e, "cannot send");
	sock_sent(s);
	return sent;
}
