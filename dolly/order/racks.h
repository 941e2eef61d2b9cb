/* racks.h: which nodes are near each other, so that a chain or tree crosses each uplink of
 * a rack once: by a description of the network, by a file of racks, or by addresses.
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

/* One node of which something is known. */
struct racks_node {
	uint8_t address[4];
	struct roster_spot spot;
};

/* Begins as all zeros. */
struct racks {
	struct racks_node *nodes; /* by address, once they are complete */
	size_t n, cap;
	uint8_t (*own)[4]; /* addresses of this machine, the loopback's last */
	size_t nown;
	uint32_t rack; /* of this machine, or ROSTER_NO_RACK */
};

/* The hosts of a network in the order of its route; those on one switch are a rack, and
 * this machine is the server.  ERR_ABSENT: nobody knows the name of a host. */
int racks_of_network(
    struct racks *, const struct network *, const struct route *, struct err *);
/* A file of lines "rack NAME HOSTS": the racks in this order, but the one of this machine
 * first, and their hosts in theirs.  ERR_USAGE: what is wrong with it; ERR_ABSENT; ERR_IO. */
int racks_read(struct racks *, const char *path, struct err *);
/* Nothing but addresses: the longer the prefix is that a node shares with this machine,
 * the sooner it comes, and nodes of one subnet follow each other, however large it is.
 * Addresses with the same first 24 bits count as a rack.  ERR_IO. */
int racks_of_addresses(struct racks *, struct err *);
void racks_free(struct racks *);

/* Where a node at this address stands; `listed` is not touched.  One of which nothing is
 * said comes behind all others. */
void racks_find(const struct racks *, const uint8_t address[4], struct roster_spot *);

#endif /* DOLLY_ORDER_RACKS_H */
