/* racks.h: which nodes are near each other, so that a chain or tree crosses each uplink of
 * a rack once.  The source is a description of the network, a file of racks, or the nodes'
 * addresses.
 *
 * Used by one thread. */
#ifndef DOLLY_ORDER_RACKS_H
#define DOLLY_ORDER_RACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "dolly/engine/roster.h"
#include "dolly/plan/route.h"

/* A node whose position is known. */
struct racks_node {
	uint8_t address[4];
	struct roster_spot spot;
};

/* Begins as all zeros. */
struct racks {
	struct racks_node *nodes; /* sorted by address, once they are complete */
	size_t n, cap;
	uint8_t (*own)[4]; /* addresses of this machine, the loopback's last */
	size_t nown;
	uint32_t rack; /* of this machine, or ROSTER_NO_RACK */
};

/* Takes the hosts of a network, in the order of its route.  The hosts of a switch are a rack,
 * and this machine is the network's server.  ERR_ABSENT: the name of a host cannot be
 * resolved; ERR_NOMEM. */
int racks_of_network(
    struct racks *, const struct network *, const struct route *, struct err *);
/* Reads a file of lines "rack NAME HOSTS".  The rack of this machine comes first, the others
 * in the order of the file, and the hosts of a rack in the order of their line.  ERR_FORMAT:
 * what is wrong with the file; ERR_ABSENT: a name cannot be resolved; ERR_IO; ERR_NOMEM. */
int racks_read(struct racks *, const char *path, struct err *);
/* Orders nodes by their addresses alone: the longer the prefix that a node shares with this
 * machine, the sooner it comes, and the nodes of a subnet follow each other, however large
 * the subnet is.  Addresses with the same first 24 bits count as a rack.  ERR_IO;
 * ERR_NOMEM. */
int racks_of_addresses(struct racks *, struct err *);
/* Releases what the functions above have made. */
void racks_free(struct racks *);

/* Fills in order and rack of the node at this address, but not `listed`.  A node that the
 * network or the file does not name comes behind all others. */
void racks_find(const struct racks *, const uint8_t address[4], struct roster_spot *);

/* Does the network or the file name the node at this address? */
bool racks_has(const struct racks *, const uint8_t address[4]);
/* The point of the host at this address, where racks_of_network() has taken the hosts of this
 * route; NETWORK_NONE: the description has no such host. */
uint32_t racks_point(
    const struct racks *, const struct route *, const uint8_t address[4]);

#endif /* DOLLY_ORDER_RACKS_H */
