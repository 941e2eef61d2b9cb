#include "common/net/sock.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	TTL = 5,
	RECEIVE_BATCH = 16,
	RECEIVE_BYTES = 65536, /* UDP_GRO joins datagrams up to this */
	RECEIVE_ROUNDS = 8,
	SEGMENTED_BYTES = 65000, /* in one call; a datagram's most is 65507 */
};

struct sock {
	int fd;
	struct netif netif;
	struct sockaddr_in dest;
	bool group;
	bool gso;         /* until the kernel refuses it */
	bool whole;       /* what is sent is not to be fragmented */
	bool too_long;    /* ... and something was too long for that */
	uint8_t *buffers; /* RECEIVE_BATCH of RECEIVE_BYTES */
};

static const uint8_t all_ones[4] = { 255, 255, 255, 255 };

static int
option(int fd, int level, int name, const void *value, socklen_t len, const char *what,
    struct err *e)
{
	return setsockopt(fd, level, name, value, len) == 0 ? 0 : err_os(e, "%s", what);
}

/* As large as the system lets us; smaller is slower, not wrong. */
static void
set_buffers(int fd, uint32_t bytes)
{
	int n = (int)bytes;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &n, sizeof n) != 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &n, sizeof n);
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &n, sizeof n) != 0)
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &n, sizeof n);
}

static struct ip_mreqn
membership(const struct sock *s)
{
	struct ip_mreqn m = { .imr_multiaddr = s->dest.sin_addr,
		.imr_ifindex = (int)s->netif.index };

	memcpy(&m.imr_address, s->netif.addr, 4);
	return m;
}

static int
join_group(struct sock *s, const struct sock_config *cfg, struct err *e)
{
	struct ip_mreqn m = membership(s);
	int ttl = TTL, loop = cfg->loopback, off = 0;

	if (option(s->fd, IPPROTO_IP, IP_MULTICAST_TTL, &ttl, sizeof ttl,
		"multicast TTL", e) != 0 ||
	    option(s->fd, IPPROTO_IP, IP_MULTICAST_LOOP, &loop, sizeof loop,
		"multicast loop", e) != 0 ||
	    option(s->fd, IPPROTO_IP, IP_MULTICAST_IF, &m, sizeof m,
		"multicast interface", e) != 0 ||
	    option(s->fd, IPPROTO_IP, IP_MULTICAST_ALL, &off, sizeof off,
		"multicast filter", e) != 0)
		return -1;
	return option(s->fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &m, sizeof m,
	    "cannot join the group", e);
}

static void
change_membership(const struct sock *s, int what)
{
	struct ip_mreqn m = membership(s);

	if (s->group)
		setsockopt(s->fd, IPPROTO_IP, what, &m, sizeof m);
}

void
sock_rejoin(struct sock *a, struct sock *b)
{
	static const int steps[] = { IP_DROP_MEMBERSHIP, IP_ADD_MEMBERSHIP };

	for (unsigned i = 0; i < 2; i++) {
		change_membership(a, steps[i]);
		if (b != NULL)
			change_membership(b, steps[i]);
	}
}

void
sock_leave(struct sock *s)
{
	change_membership(s, IP_DROP_MEMBERSHIP);
	s->group = false;
}

/* A group's socket hears only that group; broadcasts come only to sockets
 * without an address; unicast ones have the interface's. */
static int
bind_port(struct sock *s, const struct sock_config *cfg, struct err *e)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	socklen_t len = sizeof sin;

	if (s->group)
		sin.sin_addr = s->dest.sin_addr;
	else if (!cfg->broadcast)
		memcpy(&sin.sin_addr, s->netif.addr, 4);
	for (uint32_t port = cfg->port_lo; port <= cfg->port_hi; port++) {
		sin.sin_port = htons((uint16_t)port);
		if (bind(s->fd, (struct sockaddr *)&sin, sizeof sin) == 0) {
			if (getsockname(s->fd, (struct sockaddr *)&sin, &len) != 0)
				return err_os(e, "getsockname");
			s->dest.sin_port = cfg->dest_port != 0 ? htons(cfg->dest_port)
			                                       : sin.sin_port;
			return 0;
		}
		if (errno != EADDRINUSE)
			break;
	}
	if (cfg->port_lo == cfg->port_hi)
		return err_os(e, "cannot use port %u", cfg->port_lo);
	return err_os(e, "cannot use any port of %u-%u", cfg->port_lo, cfg->port_hi);
}

static int
choose_interface(struct sock *s, const struct sock_config *cfg, struct err *e)
{
	if (cfg->iface != NULL ? netif_find(&s->netif, cfg->iface, e) != 0
			       : netif_of_route(&s->netif, cfg->addr, e) != 0)
		return -1;
	memcpy(&s->dest.sin_addr, cfg->addr, 4);
	if (cfg->broadcast && memcmp(cfg->addr, all_ones, 4) == 0 && cfg->iface != NULL)
		memcpy(&s->dest.sin_addr, s->netif.broadcast, 4);
	return 0;
}

/* The kernel gives us only what the other side sends; or, when many of them will share
 * our port, lets them: nobody else had it when we came. */
static int
settle_senders(struct sock *s, const struct sock_config *cfg, struct err *e)
{
	int on = 1;

	if (cfg->connected &&
	    connect(s->fd, (struct sockaddr *)&s->dest, sizeof s->dest) != 0)
		return err_os(e, "connecting a socket");
	return !cfg->any_sender ? 0
	                        : option(s->fd, SOL_SOCKET, SO_REUSEADDR, &on,
				      sizeof on, "sharing the port", e);
}

static int
configure(struct sock *s, const struct sock_config *cfg, struct err *e)
{
	int on = 1;

	if (choose_interface(s, cfg, e) != 0)
		return -1;
	s->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd < 0)
		return err_os(e, "cannot make a socket");
	set_buffers(s->fd, cfg->buffer_bytes);
	if ((cfg->share_port || cfg->loopback) &&
	    option(s->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on, "sharing the port",
		e) != 0)
		return -1;
	if (cfg->broadcast && option(s->fd, SOL_SOCKET, SO_BROADCAST, &on, sizeof on,
				  "broadcasting", e) != 0)
		return -1;
	/* Old kernels have no UDP_GRO: then every datagram comes by itself. */
	if (!cfg->any_sender)
		setsockopt(s->fd, IPPROTO_UDP, UDP_GRO, &on, sizeof on);
	if (bind_port(s, cfg, e) != 0 || settle_senders(s, cfg, e) != 0)
		return -1;
	return s->group ? join_group(s, cfg, e) : 0;
}

int
sock_open(struct sock **out, const struct sock_config *cfg, struct err *e)
{
	struct sock *s = calloc(1, sizeof *s);

	if (s == NULL)
		return err_nomem(e, "a socket");
	s->fd = -1;
	s->dest.sin_family = AF_INET;
	s->group = netif_is_group(cfg->addr);
	s->gso = !cfg->no_gso;
	s->buffers = malloc((size_t)RECEIVE_BATCH * RECEIVE_BYTES);
	if (s->buffers == NULL)
		err_nomem(e, "receive buffers");
	if (s->buffers == NULL || configure(s, cfg, e) != 0) {
		sock_close(s);
		return -1;
	}
	*out = s;
	return 0;
}

void
sock_close(struct sock *s)
{
	if (s == NULL)
		return;
	if (s->fd >= 0)
		close(s->fd);
	free(s->buffers);
	free(s);
}

int
sock_fd(const struct sock *s)
{
	return s->fd;
}

const struct netif *
sock_netif(const struct sock *s)
{
	return &s->netif;
}

uint16_t
sock_port(const struct sock *s)
{
	return ntohs(s->dest.sin_port);
}

const uint8_t *
sock_dest(const struct sock *s)
{
	return (const uint8_t *)&s->dest.sin_addr;
}

/* No room, or a node that is not there (unicast): try again later. */
static bool
is_transient(int os)
{
	return os == EAGAIN || os == ENOBUFS || os == EINTR || os == ECONNREFUSED ||
	       os == EHOSTUNREACH;
}

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
sock_send(struct sock *s, const void *pkt, size_t len, struct err *e)
{
	keep_whole(s, len);
	if (sendto(s->fd, pkt, len, 0, (struct sockaddr *)&s->dest, sizeof s->dest) >=
	    0)
		return 1;
	if (errno == EMSGSIZE) {
		s->too_long = true;
		return 1;
	}
	return is_transient(errno) ? 0 : err_os(e, "cannot send");
}

static size_t
bytes_of(const struct sock_block *b)
{
	return b->header_bytes + b->data_bytes;
}

/* How many of them the kernel can cut apart: of one length, but for the last one. */
static unsigned
segments(const struct sock_block *b, unsigned n)
{
	size_t each = bytes_of(b), total = each;
	unsigned i = 1;

	while (i < n && bytes_of(&b[i]) <= each &&
	       total + bytes_of(&b[i]) <= SEGMENTED_BYTES) {
		total += bytes_of(&b[i++]);
		if (bytes_of(&b[i - 1]) < each)
			break;
	}
	return i;
}

static void
gather(struct iovec *iov, const struct sock_block *b)
{
	iov[0] = (struct iovec){ (void *)(uintptr_t)b->header, b->header_bytes };
	iov[1] = (struct iovec){ (void *)(uintptr_t)b->data, b->data_bytes };
}

/* One call, one pass through the kernel: it cuts the datagrams apart. */
static int
send_segmented(struct sock *s, const struct sock_block *b, unsigned n)
{
	struct iovec iov[2 * SOCK_BATCH_MAX];
	union {
		char bytes[CMSG_SPACE(sizeof(uint16_t))];
		struct cmsghdr align;
	} control = { 0 };
	struct msghdr m = { .msg_name = &s->dest,
		.msg_namelen = sizeof s->dest,
		.msg_iov = iov,
		.msg_iovlen = 2 * n,
		.msg_control = &control,
		.msg_controllen = sizeof control.bytes };
	uint16_t segment = (uint16_t)bytes_of(b);

	for (unsigned i = 0; i < n; i++)
		gather(&iov[2 * i], &b[i]);
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = IPPROTO_UDP;
	c->cmsg_type = UDP_SEGMENT;
	c->cmsg_len = CMSG_LEN(sizeof segment);
	memcpy(CMSG_DATA(c), &segment, sizeof segment);
	return sendmsg(s->fd, &m, 0) >= 0 ? (int)n : -1;
}

static int
send_separate(struct sock *s, const struct sock_block *b, unsigned n)
{
	struct iovec iov[2 * SOCK_BATCH_MAX];
	struct mmsghdr m[SOCK_BATCH_MAX];

	memset(m, 0, sizeof m);
	for (unsigned i = 0; i < n; i++) {
		gather(&iov[2 * i], &b[i]);
		m[i].msg_hdr = (struct msghdr){ .msg_name = &s->dest,
			.msg_namelen = sizeof s->dest,
			.msg_iov = &iov[2 * i],
			.msg_iovlen = 2 };
	}
	return sendmmsg(s->fd, m, n, 0);
}

/* Those of one kind: not to be fragmented, or it does not matter. */
static unsigned
alike(const struct sock *s, const struct sock_block *b, unsigned n)
{
	unsigned i = 1;

	while (i < n && (bytes_of(&b[i]) > SOCK_FRAGMENTED_MAX) == s->whole)
		i++;
	return i;
}

int
sock_send_blocks(struct sock *s, const struct sock_block *b, unsigned n, struct err *e)
{
	int sent = -1;

	assert(n > 0 && n <= SOCK_BATCH_MAX);
	keep_whole(s, bytes_of(b));
	n = alike(s, b, n);
	unsigned together = s->gso ? segments(b, n) : 1;
	if (together > 1) {
		sent = send_segmented(s, b, together);
		if (sent < 0 && !is_transient(errno))
			s->gso = false; /* not for this kernel or device */
		else
			return sent < 0 ? 0 : sent;
	}
	sent = send_separate(s, b, s->gso ? 1 : n);
	if (sent < 0 && errno == EMSGSIZE) {
		s->too_long = true;
		return 1;
	}
	if (sent < 0)
		return is_transient(errno) ? 0 : err_os(e, "cannot send");
	return sent;
}

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
give_out(const struct sock *s, struct mmsghdr *m, const struct receive_slot *slot,
    void (*fn)(void *, const void *, size_t, const uint8_t *), void *arg)
{
	const uint8_t *p = slot->iov.iov_base;
	size_t left = m->msg_len, each = segment_bytes(&m->msg_hdr);

	if (slot->from.sin_port != s->dest.sin_port)
		return; /* not of this protocol: rule 3 */
	if (each == 0)
		each = left;
	while (left > 0) {
		size_t n = left < each ? left : each;
		fn(arg, p, n, (const uint8_t *)&slot->from.sin_addr);
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
		if (n < 0)
			return is_transient(errno) ? 0 : err_os(e, "cannot receive");
		for (int i = 0; i < n; i++)
			give_out(s, &m[i], &slots[i], fn, arg);
		if (n < RECEIVE_BATCH)
			return 0;
	}
	return 0;
}

int
sock_receive_from(struct sock *s, void *pkt, size_t cap, uint8_t from[4],
    uint16_t *port, struct err *e)
{
	struct sockaddr_in sin;
	socklen_t len = sizeof sin;
	ssize_t n;

	/* An empty one is nobody's packet, but not the end of them. */
	do
		n = recvfrom(
		    s->fd, pkt, cap, MSG_DONTWAIT, (struct sockaddr *)&sin, &len);
	while (n == 0);
	if (n < 0)
		return is_transient(errno) ? 0 : err_os(e, "cannot receive");
	memcpy(from, &sin.sin_addr, 4);
	*port = ntohs(sin.sin_port);
	return (int)n;
}
