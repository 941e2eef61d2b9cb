/* netif.h: which of the machine's interfaces the packets leave by.
 *
 * Only IPv4 is supported.  Addresses are four bytes in network order, like the protocol's
 * srcip.
 */
#ifndef COMMON_NET_NETIF_H
#define COMMON_NET_NETIF_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"

struct netif {
	char name[IF_NAMESIZE];
	unsigned index;
	uint8_t addr[4];      /* of this host on the interface */
	uint8_t broadcast[4]; /* of the interface's network; zeros: it has none */
};

/* Find the interface with the name or the address `spec`.  ERR_ABSENT: there is none, or it has
 * no IPv4 address; ERR_IO: the system cannot list the interfaces. */
int netif_find(struct netif *, const char *spec, struct err *);
/* Find the interface by which the system would send to `to`.  ERR_IO when there is no
 * route, with a sentence that says what to do. */
int netif_of_route(struct netif *, const uint8_t to[4], struct err *);

/* Is the address in the network of one of this machine's interfaces, or at the other end of
 * one?  Also false when the system cannot list them. */
bool netif_is_near(const uint8_t addr[4]);

/* Look up the interface again, by its name: its address, and its index if the interface was
 * removed and came back.  The address stays the same as long as the interface has it.  -1: there
 * is no such interface or it has no address, and nothing is changed. */
int netif_again(struct netif *);

enum { NETIF_FILTERED_MAX = 256 };
/* Does the kernel drop what comes to this interface from its own network, because
 * rp_filter is strict and the route there leads through another interface?  Then text[]
 * says so of `what` ("requests"), without a full stop. */
bool netif_filtered(const struct netif *, const char *what, char text[NETIF_FILTERED_MAX]);

/* The length in bytes of the longest IP packet that the interface sends whole; 0: not known. */
uint32_t netif_mtu(const struct netif *);

/* Is this the address of a multicast group? */
static inline bool
netif_is_group(const uint8_t addr[4])
{
	return addr[0] >= 224 && addr[0] <= 239;
}

#endif /* COMMON_NET_NETIF_H */
