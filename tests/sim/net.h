/* net.h: a simulated switch: hosts with one port each; what one sends, all others
 * get.  A packet is serialised on its sender's link and again on each receiver's
 * (whose queue is bounded), travels for the latency, may be lost, doubled or late,
 * and is read by a host that takes its time and has a bounded socket buffer.
 * All times are nanoseconds of virtual time; all chance comes from one seed.
 */
#ifndef TESTS_SIM_NET_H
#define TESTS_SIM_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/wire/wirext.h"

struct net_config {
	uint64_t port_bits;      /* a second, each way */
	uint64_t client_bits;    /* clients' ports; 0: the same */
	uint32_t queue_bytes;    /* of a switch port */
	uint32_t latency_us;     /* host to host */
	double loss;             /* 0..1, for each receiver on its own */
	double burst_us;         /* mean time of a run of losses; 0: one by one */
	double late;             /* share of packets delayed ... */
	uint32_t late_us;        /* ... by up to so much */
	double twice;            /* share of packets doubled */
	uint32_t socket_packets; /* a receive buffer holds so many */
	uint32_t read_ns;        /* a host reads one in so long */
	/* Clients' cards tell of what came so often only, each at its own time; 0: at
	 * once.  Great crowds take a fifth of the time with it. */
	uint32_t gather_us;
};

/* One port's own link; what is 0 is as everybody's. */
struct net_link {
	uint64_t bits;        /* a second, each way */
	uint32_t queue_bytes; /* of the switch port */
	double loss;          /* of what comes, besides: 1: it hears nothing ... */
	double burst_us;      /* ... in runs that take so long on average */
	double loss_up;       /* of what it sends; 1: nobody hears it */
};

struct packet {
	unsigned refs;
	uint8_t from[4];
	size_t len;
	uint8_t bytes[WIREXT_PACKET_MAX];
};

struct arrival {
	uint64_t at_ns;
	struct packet *pkt;
};

struct port {
	bool up;
	bool bad;       /* in a burst of losses ... */
	bool own;       /* its link is not as everybody's */
	bool mute;      /* what it sends is lost for now */
	bool second;    /* listens to the second port, too */
	bool deaf;      /* has left the group */
	uint8_t network; /* its switch: others do not hear it */
	size_t longest; /* what is longer does not pass; 0: all does */
	uint64_t turns_ns; /* ... or not, until then */
	uint64_t rng;
	struct net_link link;
	uint64_t tx_free_ns, rx_free_ns, read_free_ns, told_ns;
	struct arrival *queue; /* by time */
	size_t head, n, cap;
};

struct net_stats {
	uint64_t sent, lost, queue_drops, socket_drops;
};

struct net {
	struct net_config cfg;
	uint64_t rng;
	struct port *ports;
	struct arrival *queues; /* short ones, all in one place */
	unsigned nports;
	struct net_stats stats;
	/* Called for each port whose first arrival may have changed. */
	void (*touched)(void *arg, unsigned port);
	void *arg;
};

uint64_t sim_random(uint64_t *rng);
/* 0 <= x < 1 */
double sim_fraction(uint64_t *rng);

void net_init(struct net *, const struct net_config *, unsigned nports, uint64_t seed);
void net_fini(struct net *);
/* This port has a link of its own. */
void net_set_link(struct net *, unsigned port, const struct net_link *);
/* A packet of `len` bytes from a port to all others of its network that are up. */
void net_send(struct net *, unsigned from, const uint8_t ip[4], const void *bytes,
    size_t len, uint64_t now_ns);
/* When the next packet can be read; UINT64_MAX: none is under way. */
uint64_t net_next(const struct net *, unsigned port);
/* Read it; the caller drops it with net_drop(). */
struct packet *net_receive(struct net *, unsigned port);
void net_drop(struct packet *);
/* A port goes down: what was on its way to it is lost. */
void net_down(struct net *, unsigned port);
/* How long the sender's link is busy from now on. */
uint64_t net_backlog_ns(const struct net *, unsigned port, uint64_t now_ns);

#endif /* TESTS_SIM_NET_H */
