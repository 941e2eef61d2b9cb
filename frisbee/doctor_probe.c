/* Finding the facts out, in a few seconds: ask for the server's answer, probe with
 * small, large and many packets, try the other interfaces, leave the group and listen
 * who asks. */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/cli.h"
#include "common/base/progress.h"
#include "common/net/netif.h"
#include "common/net/probe.h"
#include "common/net/wirext.h"
#include "frisbee/doctor.h"
#include "frisbee/doctor_watch.h"

enum {
	REPLY_US = 500000, /* a JOIN is given so long */
	JOINS = 4,
	ECHO_US = 700000,    /* probes are given so long at the end */
	QUERY_US = 2000000,  /* who is asked whether there are other members */
	REPORT_US = 1200000, /* a report is said twice in this time */
	SPACE_US = 20000,    /* between probes */
	TRIES = 4,
	OTHERS = 8, /* interfaces that are tried */
	TTL_DIRECT = 64,
	/* Numbers of probes say what for. */
	NUMBER_LARGE = 100,
	NUMBER_LOSS = 200,
};

static const uint16_t sizes[] = { 1056, 972, 548 }; /* MTU 1084, 1000, 576 */

struct exam {
	const struct sock_config *net;
	struct doctor_facts *f;
	struct netif netif;
	int first, second, direct, watch; /* sockets */
	uint32_t id;
	uint64_t got[(DOCTOR_LOSS_PROBES + 63) / 64];
	int others[OTHERS];
	struct netif other[OTHERS];
	unsigned nothers;
};

/* --- sockets --- */

static struct sockaddr_in
address(const uint8_t addr[4], uint16_t port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(port) };

	memcpy(&sin.sin_addr, addr, 4);
	return sin;
}

/* Bound to the address and port, with the TTL of what comes. */
static int
open_at(const uint8_t addr[4], uint16_t port, int ttl, struct err *e)
{
	struct sockaddr_in sin = address(addr, port);
	int on = 1, whole = IP_PMTUDISC_PROBE;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return err_os(e, "cannot make a socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
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

static int
open_group(const struct exam *x, const struct netif *n, uint16_t port, struct err *e)
{
	struct ip_mreqn m = { .imr_ifindex = (int)n->index };
	int ttl = DOCTOR_TTL, off = 0, fd = open_at(x->f->group, port, TTL_DIRECT, e);

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

static void
send_to(struct exam *x, int fd, const uint8_t addr[4], uint16_t port, const void *pkt,
    size_t len)
{
	struct sockaddr_in to = address(addr, port);

	/* It may be an earlier packet's error that is told now. */
	for (int i = 0; i < 2 && fd >= 0; i++) {
		if (sendto(fd, pkt, len, 0, (struct sockaddr *)&to, sizeof to) >= 0)
			return;
		x->f->refused_out |= errno == EPERM;
		x->f->refused |= errno == ECONNREFUSED;
	}
}

/* --- hearing --- */

struct heard {
	uint8_t pkt[PROBE_BYTES_MAX + 1];
	size_t len;
	uint8_t from[4];
	uint16_t port;
	int ttl; /* -1 unknown */
};

static bool
receive(int fd, struct heard *h)
{
	struct sockaddr_in from = { 0 };
	struct iovec iov = { h->pkt, sizeof h->pkt };
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
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
		return false;
	h->len = (size_t)n;
	h->port = ntohs(from.sin_port);
	memcpy(h->from, &from.sin_addr, 4);
	h->ttl = -1;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c != NULL; c = CMSG_NXTHDR(&m, c))
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TTL)
			memcpy(&h->ttl, CMSG_DATA(c), sizeof h->ttl);
	return true;
}

static void
note_server(struct exam *x, const struct heard *h, int ttl)
{
	struct doctor_facts *f = x->f;

	if (!f->server_known)
		memcpy(f->server, h->from, 4);
	f->server_known = true;
	if (h->ttl >= 0 && h->ttl <= ttl)
		f->hops = ttl - h->ttl;
}

/* A server's packet at the first port: a reply, or a block.  Is it one, and sound? */
static bool
is_servers(struct exam *x, const struct heard *h, struct wire_msg *m)
{
	struct err e;

	if (wire_get(m, h->pkt, h->len, &e) != 0 ||
	    (m->subtype != WIRE_BLOCK && m->type != WIRE_REPLY))
		return false;
	if (h->port != x->f->port) {
		x->f->odd_port = h->port;
		return false;
	}
	if (memcmp(m->srcip, h->from, 4) == 0)
		return true;
	x->f->odd_source = true;
	memcpy(x->f->seen, h->from, 4);
	memcpy(x->f->server, m->srcip, 4);
	return false;
}

static void
hear_first(struct exam *x, const struct heard *h)
{
	struct wire_msg m;
	struct wirext_answer a;

	if (!is_servers(x, h, &m))
		return;
	x->f->group_heard++;
	note_server(x, h, DOCTOR_TTL);
	if (m.type != WIRE_REPLY || m.subtype != WIRE_JOIN)
		return;
	x->f->replied = true;
	x->f->chunks = m.u.join.blocks / WIRE_CHUNK_BLOCKS;
	if (wirext_get_answer(h->pkt, h->len, &a)) {
		x->f->answers_probes = (a.flags & WIREXT_PROBES) != 0;
		x->f->second = a.port;
	}
}

static void
hear_loss(struct exam *x, const struct probe *p)
{
	struct doctor_loss *l = &x->f->loss;
	unsigned i = p->number - (unsigned)NUMBER_LOSS;

	if (i >= DOCTOR_LOSS_PROBES || (x->got[i / 64] >> i % 64 & 1) != 0)
		return;
	x->got[i / 64] |= UINT64_C(1) << i % 64;
	l->got++;
	if (l->sent < i + 1)
		l->sent = i + 1;
	if (l->heard < p->heard)
		l->heard = p->heard;
	if (l->answered < p->by_group)
		l->answered = p->by_group;
}

/* An ECHO for us, through the group or not. */
static void
hear_echo(struct exam *x, const struct heard *h, bool by_group)
{
	struct doctor_facts *f = x->f;
	struct probe p;
	struct err e;

	if (probe_get(&p, h->pkt, h->len, &e) != 0 || !p.echo || p.id != x->id)
		return;
	f->answers_probes = true;
	note_server(x, h, by_group ? DOCTOR_TTL : TTL_DIRECT);
	if (by_group)
		f->group_group++;
	else if (p.flags & PROBE_CAME_BY_GROUP)
		f->group_direct++;
	else
		f->direct_direct++;
	if (p.number >= NUMBER_LOSS)
		hear_loss(x, &p);
	else if (p.number >= NUMBER_LARGE && f->largest < h->len + 28)
		f->largest = (uint32_t)h->len + 28;
}

static void
hear_others(struct exam *x)
{
	struct wire_msg m;
	struct heard h;

	for (unsigned i = 0; i < x->nothers; i++)
		while (receive(x->others[i], &h))
			if (is_servers(x, &h, &m)) {
				snprintf(x->f->other_iface, IF_NAMESIZE, "%s",
				    x->other[i].name);
				note_server(x, &h, DOCTOR_TTL);
			}
}

static void
hear_all(struct exam *x)
{
	struct heard h;

	while (receive(x->first, &h))
		hear_first(x, &h);
	while (receive(x->second, &h))
		hear_echo(x, &h, true);
	errno = 0;
	while (receive(x->direct, &h))
		hear_echo(x, &h, false);
	x->f->refused |= errno == ECONNREFUSED;
	hear_others(x);
	watch_collect(x->watch, x->f);
}

/* Listen for so long, or until *enough. */
static int
listen_for(struct exam *x, uint64_t us, const bool *enough, struct err *e)
{
	uint64_t until = clock_us() + us;

	for (uint64_t now; (now = clock_us()) < until;) {
		struct pollfd fds[] = { { x->first, POLLIN, 0 },
			{ x->second, POLLIN, 0 }, { x->direct, POLLIN, 0 },
			{ x->watch, POLLIN, 0 } };
		if (cli_check_signal(e) != 0)
			return -1;
		hear_all(x);
		if (enough != NULL && *enough)
			return 0;
		uint64_t wait = until - now < 10000 ? until - now : 10000;
		poll(fds, x->nothers != 0 ? 0 : 4, (int)(wait / 1000) + 1);
	}
	hear_all(x);
	return 0;
}

/* --- asking --- */

/* A JOIN that new servers do not count, and others let LEAVE follow. */
static void
send_join(struct exam *x, int fd, const uint8_t addr[4])
{
	struct wire_msg m = { .type = WIRE_REQUEST,
		.subtype = WIRE_JOIN,
		.u.join.clientid = x->id & INT32_MAX };
	uint8_t pkt[WIRE_PACKET_MAX];

	memcpy(m.srcip, addr, 4);
	size_t len = wire_put(&m, pkt, sizeof pkt);
	len = wirext_put_offer(pkt, len, sizeof pkt, WIREXT_AGAIN | WIREXT_PROBES);
	send_to(x, fd, x->f->group, x->f->port, pkt, len);
}

static void
send_leave(struct exam *x, int fd, const uint8_t addr[4])
{
	struct wire_msg m = { .type = WIRE_REQUEST,
		.subtype = WIRE_LEAVE,
		.u.leave.clientid = x->id & INT32_MAX };
	uint8_t pkt[WIRE_PACKET_MAX];

	memcpy(m.srcip, addr, 4);
	size_t len = wire_put(&m, pkt, sizeof pkt);
	send_to(x, fd, x->f->group, x->f->port, pkt, len);
}

static void
send_probe(struct exam *x, bool to_group, unsigned number, unsigned flags, size_t len)
{
	struct probe p = {
		.id = x->id, .number = (uint16_t)number, .flags = (uint16_t)flags
	};
	uint8_t pkt[PROBE_BYTES_MAX];

	memcpy(p.srcip, x->netif.addr, 4);
	probe_put(&p, pkt, len);
	send_to(x, to_group ? x->second : x->direct,
	    to_group ? x->f->group : x->f->server, x->f->second, pkt, len);
}

static int
ask_for_answer(struct exam *x, struct err *e)
{
	for (int i = 0; i < JOINS && !x->f->replied; i++) {
		send_join(x, x->first, x->netif.addr);
		if (listen_for(x, REPLY_US, &x->f->replied, e) != 0)
			return -1;
	}
	if (!x->f->answers_probes)
		send_leave(x, x->first, x->netif.addr);
	return 0;
}

static int
probe_small(struct exam *x, struct err *e)
{
	for (unsigned i = 0; i < TRIES; i++) {
		send_probe(x, true, i, PROBE_GROUP | PROBE_DIRECT, PROBE_BYTES_MIN);
		if (x->f->server_known)
			send_probe(x, false, i, PROBE_DIRECT, PROBE_BYTES_MIN);
		if (listen_for(x, ECHO_US / TRIES, NULL, e) != 0)
			return -1;
	}
	return listen_for(x, ECHO_US / 2, NULL, e);
}

static int
probe_large(struct exam *x, struct err *e)
{
	bool group = x->f->group_group > 0;

	for (unsigned i = 0; i < TRIES * sizeof sizes / sizeof sizes[0]; i++) {
		send_probe(x, group || x->f->direct_direct == 0, NUMBER_LARGE + i,
		    group ? PROBE_GROUP : PROBE_DIRECT, sizes[i / TRIES]);
		x->f->large_sent++;
		if (listen_for(x, 2 * SPACE_US, NULL, e) != 0)
			return -1;
	}
	return listen_for(x, ECHO_US / 2, NULL, e);
}

static int
probe_loss(struct exam *x, struct err *e)
{
	x->id++; /* the server counts each one's from the beginning */
	for (unsigned i = 0; i < DOCTOR_LOSS_PROBES; i++) {
		send_probe(x, true, NUMBER_LOSS + i, PROBE_GROUP, PROBE_BYTES_MIN);
		if (listen_for(x, SPACE_US, NULL, e) != 0)
			return -1;
	}
	return listen_for(x, ECHO_US / 2, NULL, e);
}

static void
open_others(struct exam *x)
{
	struct ifaddrs *list = NULL;
	struct netif n;
	struct err ignored;

	if (getifaddrs(&list) != 0)
		return;
	for (struct ifaddrs *i = list; i != NULL && x->nothers < OTHERS;
	     i = i->ifa_next) {
		if (i->ifa_addr == NULL || i->ifa_addr->sa_family != AF_INET ||
		    !(i->ifa_flags & IFF_UP) || (i->ifa_flags & IFF_LOOPBACK) ||
		    strcmp(i->ifa_name, x->netif.name) == 0 ||
		    netif_find(&n, i->ifa_name, &ignored) != 0)
			continue;
		int fd = open_group(x, &n, x->f->port, &ignored);
		if (fd < 0)
			continue;
		x->other[x->nothers] = n;
		x->others[x->nothers++] = fd;
	}
	freeifaddrs(list);
}

/* Does it answer elsewhere?  The first answer may come before the switch knows us. */
static int
try_others(struct exam *x, struct err *e)
{
	bool found = false;

	open_others(x);
	for (int round = 0; round < JOINS && x->nothers != 0 && !found; round++) {
		for (unsigned i = 0; i < x->nothers; i++)
			send_join(x, x->others[i], x->other[i].addr);
		if (listen_for(x, REPLY_US, NULL, e) != 0)
			return -1;
		found = x->f->other_iface[0] != 0;
	}
	for (unsigned i = 0; i < x->nothers; i++)
		send_leave(x, x->others[i], x->other[i].addr);
	return 0;
}

/* --- the whole --- */

static void
close_group(struct exam *x)
{
	if (x->first >= 0)
		close(x->first);
	if (x->second >= 0)
		close(x->second);
	for (unsigned i = 0; i < x->nothers; i++)
		close(x->others[i]);
	x->first = x->second = -1;
	x->nothers = 0;
}

static int
open_second(struct exam *x, struct err *e)
{
	x->second = open_group(x, &x->netif, x->f->second, e);
	if (x->second >= 0)
		x->direct = open_at(x->netif.addr, x->f->second, TTL_DIRECT, e);
	return x->direct >= 0 ? 0 : -1;
}

static int
examine(struct exam *x, struct err *e)
{
	struct doctor_facts *f = x->f;

	if (ask_for_answer(x, e) != 0 || open_second(x, e) != 0 ||
	    probe_small(x, e) != 0)
		return -1;
	bool echoes = f->group_group + f->group_direct + f->direct_direct > 0;
	if (echoes && probe_large(x, e) != 0)
		return -1;
	if (f->group_group > 0 && probe_loss(x, e) != 0)
		return -1;
	if (f->group_heard == 0 && f->group_group == 0 && try_others(x, e) != 0)
		return -1;
	if (!f->watched)
		return 0;
	if (f->reports_out == 0 && listen_for(x, REPORT_US, NULL, e) != 0)
		return -1;
	/* Whoever asks for members does it at once when one leaves. */
	close_group(x);
	return listen_for(x, QUERY_US, &f->query, e);
}

static uint32_t
mtu_of(const char *iface)
{
	struct ifreq r = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(r.ifr_name, sizeof r.ifr_name, "%s", iface);
	int rc = ioctl(fd, SIOCGIFMTU, &r);
	close(fd);
	return rc == 0 ? (uint32_t)r.ifr_mtu : 0;
}

static int
begin(struct exam *x, const struct doctor_config *c, struct err *e)
{
	struct doctor_facts *f = x->f;

	if (c->net->iface != NULL ? netif_find(&x->netif, c->net->iface, e) != 0
				  : netif_of_route(&x->netif, c->net->addr, e) != 0)
		return -1;
	if (c->server != NULL && netif_parse(c->server, f->server, e) != 0)
		return err_ctx(e, "-S");
	f->server_known = c->server != NULL;
	memcpy(f->addr, x->netif.addr, 4);
	memcpy(f->group, c->net->addr, 4);
	memcpy(f->iface, x->netif.name, sizeof f->iface);
	f->port = c->net->port_lo;
	f->second = (uint16_t)(f->port + 1);
	f->mtu = mtu_of(f->iface);
	f->hops = -1;
	f->member_before = watch_is_member(f->iface, f->group);
	if (getrandom(&x->id, sizeof x->id, 0) != sizeof x->id)
		return err_os(e, "no random numbers");
	x->watch = watch_open(x->netif.index, f->group);
	f->watched = x->watch >= 0;
	x->first = open_group(x, &x->netif, f->port, e);
	return x->first >= 0 ? 0 : -1;
}

int
doctor_probe(const struct doctor_config *c, struct doctor_facts *f, struct err *e)
{
	struct exam x = { .net = c->net,
		.f = f,
		.first = -1,
		.second = -1,
		.direct = -1,
		.watch = -1 };
	uint64_t dropped = watch_rpf_drops();

	*f = (struct doctor_facts){ 0 };
	int rc = begin(&x, c, e);
	if (rc == 0)
		rc = examine(&x, e);
	f->rpf_drops = watch_rpf_drops() - dropped;
	close_group(&x);
	if (x.direct >= 0)
		close(x.direct);
	if (x.watch >= 0)
		close(x.watch);
	return rc;
}
