/* netif.c: network interfaces: found by name, by address or by the route to a group.
 * sock.c, frisbee --doctor and frisbeed's sessions call this when they open sockets, in
 * their own threads. */
#include "common/net/netif.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/zero.h"
#include "common/wire/addr.h"

static void
copy_addr(uint8_t dst[4], const struct sockaddr *sa)
{
	memset(dst, 0, 4);
	if (sa != NULL && sa->sa_family == AF_INET)
		memcpy(dst, &((const struct sockaddr_in *)sa)->sin_addr, 4);
}

/* Look for an interface by its address, or by its name when addr is NULL.  1: found; 0: not
 * found; -1: the system cannot list the interfaces. */
static int
search(struct netif *n, const char *name, const uint8_t *addr, struct err *e)
{
	struct ifaddrs *list;
	int found = 0;

	if (getifaddrs(&list) != 0)
		return err_os(e, "the list of network interfaces");
	for (const struct ifaddrs *i = list; i != NULL && !found; i = i->ifa_next) {
		if (i->ifa_addr == NULL || i->ifa_addr->sa_family != AF_INET)
			continue;
		copy_addr(n->addr, i->ifa_addr);
		if (addr != NULL ? memcmp(n->addr, addr, 4) != 0
				 : strcmp(i->ifa_name, name) != 0)
			continue;
		memset(n->broadcast, 0, sizeof n->broadcast);
		if (i->ifa_flags & IFF_BROADCAST)
			copy_addr(n->broadcast, i->ifa_broadaddr);
		snprintf(n->name, sizeof n->name, "%s", i->ifa_name);
		n->index = if_nametoindex(n->name);
		found = 1;
	}
	freeifaddrs(list);
	return found;
}

/* Is the address in the network of this interface? */
static bool
has_near(const struct ifaddrs *i, const uint8_t addr[4])
{
	uint8_t own[4], mask[4], other[4];
	bool near = true;

	if (i->ifa_addr == NULL || i->ifa_addr->sa_family != AF_INET)
		return false;
	copy_addr(own, i->ifa_addr);
	copy_addr(mask, i->ifa_netmask);
	copy_addr(other, i->ifa_flags & IFF_POINTOPOINT ? i->ifa_dstaddr : i->ifa_addr);
	for (int b = 0; b < 4; b++)
		near = near && ((own[b] ^ addr[b]) & mask[b]) == 0;
	return (near && i->ifa_netmask != NULL) || memcmp(other, addr, 4) == 0;
}

bool
netif_is_near(const uint8_t addr[4])
{
	struct ifaddrs *list;
	bool near = false;

	if (getifaddrs(&list) != 0)
		return false;
	for (const struct ifaddrs *i = list; i != NULL && !near; i = i->ifa_next)
		near = has_near(i, addr);
	freeifaddrs(list);
	return near;
}

int
netif_find(struct netif *n, const char *spec, struct err *e)
{
	uint8_t addr[4];
	bool is_addr = inet_pton(AF_INET, spec, addr) == 1;
	int found = search(n, spec, is_addr ? addr : NULL, e);

	if (found != 0)
		return found < 0 ? -1 : 0;
	if (is_addr)
		return err_set(
		    e, ERR_ABSENT, "no interface here has the address %s", spec);
	if (if_nametoindex(spec) != 0)
		return err_set(
		    e, ERR_ABSENT, "the interface %s has no IPv4 address", spec);
	return err_set(e, ERR_ABSENT, "there is no interface called \"%s\"", spec);
}

int
netif_again(struct netif *n)
{
	struct netif found = *n;
	struct err ignored;

	if (search(&found, NULL, n->addr, &ignored) != 1 ||
	    strcmp(found.name, n->name) != 0) {
		found = *n;
		if (search(&found, n->name, NULL, &ignored) != 1)
			return -1;
	}
	*n = found;
	return 0;
}

/* Find the address from which the system would send to `to`.  Connecting a UDP socket sends
 * nothing, but chooses a route. */
static int
route_source(const uint8_t to[4], uint8_t from[4], struct err *e)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(9) };
	socklen_t len = sizeof sin;
	char text[ADDR_TEXT_MAX];
	int on = 1, rc = 0;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return err_os(e, "socket");
	memcpy(&sin.sin_addr, to, 4);
	setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &on, sizeof on);
	if (connect(fd, (struct sockaddr *)&sin, sizeof sin) != 0) {
		addr_text(to, text);
		if (errno == ENETUNREACH || errno == EHOSTUNREACH)
			rc = err_set(e, ERR_IO,
			    "no route to %s: name the interface (-i; mfrisbeed: the statement "
			    "interface of its file), or add a route (ip route add %s%s dev "
			    "IFACE)",
			    text, netif_is_group(to) ? "224.0.0.0" : text,
			    netif_is_group(to) ? "/4" : "");
		else
			rc = err_os(e, "the route to %s", text);
	} else if (getsockname(fd, (struct sockaddr *)&sin, &len) != 0) {
		rc = err_os(e, "the route to %s", addr_text(to, text));
	}
	memcpy(from, &sin.sin_addr, 4);
	close(fd);
	return rc;
}

int
netif_of_route(struct netif *n, const uint8_t to[4], struct err *e)
{
	uint8_t from[4];
	char text[ADDR_TEXT_MAX];

	if (route_source(to, from, e) != 0)
		return -1;
	int found = search(n, NULL, from, e);
	if (found == 0)
		return err_set(e, ERR_IO, "no interface has the address %s any more",
		    addr_text(from, text));
	return found < 0 ? -1 : 0;
}

/* The value of rp_filter of an interface, or of `all`; 0 also when it cannot be read. */
static int
rp_filter(const char *name)
{
	char path[64 + IF_NAMESIZE];
	int mode = 0;

	snprintf(path, sizeof path, "/proc/sys/net/ipv4/conf/%s/rp_filter", name);
	FILE *f = fopen(path, "re");
	if (f == NULL)
		return 0;
	int n = fscanf(f, "%d", &mode);
	fclose(f);
	return n == 1 ? mode : 0;
}

/* Does the kernel drop what comes to the interface from an address to which it would send
 * by another one?  The larger one of the two values counts; 2 is satisfied with any
 * route. */
static bool
is_strict(const char *name)
{
	int own = rp_filter(name), all = rp_filter("all");

	return (own > all ? own : all) == 1;
}

bool
netif_filtered(const struct netif *n, const char *what, char text[NETIF_FILTERED_MAX])
{
	struct netif other;
	uint8_t near[4];
	struct err e;

	memcpy(near, n->broadcast, sizeof near);
	if (is_zero(near, 4))
		return false;
	/* The last address of the interface's network, or the one before if that is
	 * ours. */
	near[3] ^= 1;
	if (memcmp(near, n->addr, 4) == 0)
		near[3] ^= 3;
	if (!is_strict(n->name) || netif_of_route(&other, near, &e) != 0)
		return false;
	if (other.index == n->index)
		return false;
	snprintf(text, NETIF_FILTERED_MAX,
	    "the kernel drops %s that come to %s (rp_filter), because the route to their "
	    "senders leads through %s: use that interface, or set "
	    "net.ipv4.conf.%s.rp_filter=2 with sysctl",
	    what, n->name, other.name, n->name);
	return true;
}

uint32_t
netif_mtu(const struct netif *n)
{
	struct ifreq req = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return 0;
	memcpy(req.ifr_name, n->name, sizeof req.ifr_name);
	int rc = ioctl(fd, SIOCGIFMTU, &req);
	close(fd);
	return rc == 0 && req.ifr_mtu > 0 ? (uint32_t)req.ifr_mtu : 0;
}
