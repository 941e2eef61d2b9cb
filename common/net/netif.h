/* netif.h: which of the machine's interfaces the packets leave by.
 *
 * Only IPv4 addresses count.  Addresses are four bytes in network order, as
 * the protocol's srcip.
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
	uint8_t addr[4];      /* the address of this host on it */
	uint8_t broadcast[4]; /* of its network; zero when it has none */
};

/* Find the interface with the name or the address `spec`.  ERR_USAGE. */
int netif_find(struct netif *, const char *spec, struct err *);
/* Find the interface by which the system would send to `to`.  ERR_IO when there is no
 * route, with a sentence that says what to do. */
int netif_of_route(struct netif *, const uint8_t to[4], struct err *);

/* Look at the interface again, by its name: its address, and its index if it was taken away
 * and came back.  The address stays the one it had while it still has it.  -1, and nothing
 * is changed, when there is no such interface or it has no address. */
int netif_again(struct netif *);

/* The longest IP packet that it sends whole, in bytes; 0: not known. */
uint32_t netif_mtu(const struct netif *);

static inline bool
netif_is_group(const uint8_t addr[4])
{
	return addr[0] >= 224 && addr[0] <= 239;
}

#endif /* COMMON_NET_NETIF_H */
