/* sock.c: a socket for a group, a broadcast address or one host is opened and closed.
 * Loads and sessions call this, each socket in one thread at a time.  Sending is in
 * sock_send.c, and receiving in sock_receive.c. */
#include "common/net/sock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/net/sock_impl.h"
#include "common/net/taken.h"

enum { TTL = 5 };

static const uint8_t all_ones[4] = { 255, 255, 255, 255 };

static int
option(int fd, int level, int name, const void *value, socklen_t len, const char *what,
    struct err *e)
{
	return setsockopt(fd, level, name, value, len) == 0 ? 0 : err_os(e, "%s", what);
}

/* Make the kernel's buffers this large, or as large as the system allows.  Smaller buffers are
 * slower, but no error. */
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

int
sock_aim(struct sock *s, struct err *e)
{
	struct ip_mreqn m = membership(s);

	return option(s->fd, IPPROTO_IP, IP_MULTICAST_IF, &m, sizeof m,
	    "multicast interface", e);
}

static int
join_group(struct sock *s, struct err *e)
{
	struct ip_mreqn m = membership(s);
	int ttl = TTL, loop = s->cfg.loopback, off = 0;

	if (option(s->fd, IPPROTO_IP, IP_MULTICAST_TTL, &ttl, sizeof ttl,
		"multicast TTL", e) != 0 ||
	    option(s->fd, IPPROTO_IP, IP_MULTICAST_LOOP, &loop, sizeof loop,
		"multicast loop", e) != 0 ||
	    sock_aim(s, e) != 0 ||
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

/* Two sockets with the same group and port do not collide when each is bound to its own
 * interface.  Kernels before 5.7 want CAP_NET_RAW for this. */
static void
keep_to_interface(const struct sock *s)
{
	if (s->cfg.keep_to_interface && s->group)
		setsockopt(s->fd, SOL_SOCKET, SO_BINDTODEVICE, s->netif.name,
		    (socklen_t)strlen(s->netif.name));
}

/* The socket of a group is bound to the group's address, so that it receives nothing else.  A
 * broadcast socket is bound to no address, since otherwise it would receive no broadcasts.  A
 * unicast socket is bound to the interface's address. */
static int
bind_port(struct sock *s, struct err *e)
{
	struct sock_config *cfg = &s->cfg;
	struct sockaddr_in sin = { .sin_family = AF_INET };
	socklen_t len = sizeof sin;
	char what[40];

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
			cfg->port_lo = cfg->port_hi = ntohs(sin.sin_port);
			return 0;
		}
		if (errno != EADDRINUSE)
			break;
	}
	if (cfg->port_lo == cfg->port_hi)
		snprintf(what, sizeof what, "UDP port %u", cfg->port_lo);
	else
		snprintf(what, sizeof what, "each UDP port of %u-%u", cfg->port_lo, cfg->port_hi);
	return taken_say(e, what);
}

int
sock_interface(struct netif *n, const struct sock_config *cfg, struct err *e)
{
	return cfg->iface != NULL ? netif_find(n, cfg->iface, e)
	                          : netif_of_route(n, cfg->addr, e);
}

static int
choose_interface(struct sock *s, const struct sock_config *cfg, struct err *e)
{
	if (sock_interface(&s->netif, cfg, e) != 0)
		return -1;
	memcpy(&s->dest.sin_addr, cfg->addr, 4);
	if (cfg->broadcast && memcmp(cfg->addr, all_ones, 4) == 0 && cfg->iface != NULL)
		memcpy(&s->dest.sin_addr, s->netif.broadcast, 4);
	return 0;
}

/* With `connected`, the kernel delivers only packets of the other side.  With `any_sender`, many
 * sockets share the port, which was free when the first of them was bound. */
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

int
sock_configure(struct sock *s, struct err *e)
{
	const struct sock_config *cfg = &s->cfg;
	int on = 1;

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
	/* An old kernel without UDP_GRO does not join datagrams. */
	if (!cfg->any_sender)
		setsockopt(s->fd, IPPROTO_UDP, UDP_GRO, &on, sizeof on);
	keep_to_interface(s);
	if (bind_port(s, e) != 0 || settle_senders(s, cfg, e) != 0)
		return -1;
	return s->group ? join_group(s, e) : 0;
}

int
sock_open(struct sock **out, const struct sock_config *cfg, struct err *e)
{
	struct sock *s = calloc(1, sizeof *s);

	if (s == NULL)
		return err_nomem(e, "a socket");
	s->fd = -1;
	s->cfg = *cfg;
	s->dest.sin_family = AF_INET;
	s->group = netif_is_group(cfg->addr);
	s->gso = !cfg->no_gso;
	s->buffers = malloc((size_t)RECEIVE_BATCH * RECEIVE_BYTES);
	if (s->buffers == NULL)
		err_nomem(e, "receive buffers");
	if (s->buffers == NULL || choose_interface(s, cfg, e) != 0 ||
	    sock_configure(s, e) != 0) {
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
