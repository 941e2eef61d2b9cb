/* sim.h: the network of the simulator: nodes on a switch, in virtual time.
 *
 * Each node has a link to the switch and one from it, with a rate, a queue and
 * a latency; packets get lost, doubled and late.  One seed decides it all.
 */
#ifndef TESTS_SIM_SIM_H
#define TESTS_SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SIM_NODES_MAX = 128, SIM_PACKET_MAX = 1056 };

struct net_config {
	double bits_per_us;		/* of every port, each way */
	uint64_t latency_us;
	uint64_t queue_bytes;		/* in front of a port */
	double loss;			/* 0..1, on the way to each receiver */
	double duplicate, reorder;	/* 0..1 */
};

struct net_packet {
	uint64_t at;			/* when it arrives */
	uint64_t serial;		/* of equal times the first sent comes first */
	int to, from;
	uint32_t len;
	uint8_t data[SIM_PACKET_MAX];
};

struct net;

struct net *net_new(const struct net_config *, int nodes, uint64_t seed);
void net_free(struct net *);
/* Multicast: to every node but the sender. */
void net_send(struct net *, uint64_t now, int from, const void *pkt, size_t len);
void net_set_up(struct net *, int node, bool up);	/* a crashed node hears nothing */
uint64_t net_next(const struct net *);			/* UINT64_MAX: nothing under way */
bool net_take(struct net *, uint64_t now, struct net_packet *out);
/* Random numbers from the same seed. */
uint64_t net_random(struct net *, uint64_t below);

#endif /* TESTS_SIM_SIM_H */
