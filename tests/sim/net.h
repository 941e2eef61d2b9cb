/* net.h: a simulated switch: each host has one port, and all other hosts get what a host
 * sends.  A packet is serialised on its sender's link and again on each receiver's
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
#include "tests/random.h"

struct net_config {
	uint64_t port_bits;      /* bits a second of a port, each way */
	uint64_t client_bits;    /* bits a second of clients' ports; 0: as port_bits */
	uint32_t queue_bytes;    /* of a switch port */
	/* Memory that all ports of a switch share: a port's queue may be as long as what is left
	 * of it, and as queue_bytes.  0: each port has memory of its own. */
	uint32_t shared_bytes;
	/* What others send to clients' ports: share of the link, in bursts of cross_bytes. */
	double cross;
	uint32_t cross_bytes;
	uint32_t latency_us;     /* host to host */
	double loss;             /* share lost, 0..1, for each receiver on its own */
	/* Share lost at the server, both of what it sends (for all receivers alike) and of what
	 * comes to it; 0: as `loss` says. */
	double server_loss;
	double burst_us;         /* mean time of a run of losses; 0: one by one */
	double late;             /* share of packets that are delayed */
	uint32_t late_us;        /* largest delay */
	double twice;            /* share of packets doubled */
	uint32_t socket_packets; /* packets that a receive buffer holds */
	uint32_t read_ns;        /* time in which a host reads a packet */
	/* Clients' network cards report packets only at this interval, each card at its own time;
	 * 0: at once.  With it, runs with very many clients take a fifth of the time. */
	uint32_t gather_us;
};

/* One port's own link; a member that is 0 is as for all other ports. */
struct net_link {
	uint64_t bits;        /* bits a second, each way */
	uint32_t queue_bytes; /* of the switch port */
	double loss;          /* share lost of what comes to it; 1: it hears nothing */
	double burst_us;      /* mean time of a run of these losses */
	double loss_up;       /* share lost of what it sends; 1: nobody hears it */
};

struct packet {
	unsigned refs;
	struct packet *next; /* of those that are free */
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
	bool bad;       /* it is in a burst of losses */
	bool own;       /* it has a link of its own */
	bool mute;      /* what it sends is lost for now */
	bool second;    /* it listens to the second port, too */
	bool deaf;      /* it has left the group */
	uint8_t network; /* number of its switch; ports of other switches do not hear it */
	size_t longest; /* bytes of the longest packet that passes; 0: all pass */
	uint64_t turns_ns; /* when `bad` changes */
	uint64_t rng;
	struct net_link link;
	uint64_t tx_free_ns, rx_free_ns, read_free_ns, told_ns;
	uint64_t cross_ns; /* when others send to it next */
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
	struct arrival *queues; /* the short queues of all ports, in one allocation */
	struct packet *unused; /* packets that were read or lost, for the next ones */
	unsigned nports;
	struct net_stats stats;
	/* Called for each port whose first arrival may have changed. */
	void (*touched)(void *arg, unsigned port);
	void *arg; /* of touched() */
};

/* Makes a network of this number of ports, and releases it. */
void net_init(struct net *, const struct net_config *, unsigned nports, uint64_t seed);
void net_fini(struct net *);
/* Gives this port a link of its own. */
void net_set_link(struct net *, unsigned port, const struct net_link *);
/* Sends a packet of `len` bytes from a port to all others of its network that are up. */
void net_send(struct net *, unsigned from, const uint8_t ip[4], const void *bytes,
    size_t len, uint64_t now_ns);
/* Somebody else sends a packet to this port, which nobody reads.  When it has passed; 0: it is
 * lost. */
uint64_t net_pass(struct net *, unsigned port, size_t len, uint64_t now_ns);
/* When the next packet can be read; UINT64_MAX: none is under way. */
uint64_t net_next(const struct net *, unsigned port);
/* Reads the next packet of the port; the caller releases it with net_drop(). */
struct packet *net_receive(struct net *, unsigned port);
void net_drop(struct net *, struct packet *);
/* A port goes down: what was on its way to it is lost. */
void net_down(struct net *, unsigned port);
/* How long the sender's link is busy from now on. */
uint64_t net_backlog_ns(const struct net *, unsigned port, uint64_t now_ns);

#endif /* TESTS_SIM_NET_H */
