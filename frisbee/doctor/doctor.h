/* doctor.h: "frisbee --doctor": why does multicast not arrive here?
 *
 * doctor_probe.c finds facts out (doctor_exam.h says where each part is), doctor_judge.c
 * says in words what they mean, frisbee/diagnose.c prints it.  Nothing is loaded, and no session
 * notices: the server is only asked for its answer to JOIN, and for ECHOs
 * (docs/protocol-wire.md).
 */
#ifndef FRISBEE_DOCTOR_DOCTOR_H
#define FRISBEE_DOCTOR_DOCTOR_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/net/arp.h"
#include "common/net/sock.h"
#include "common/wire/wirext.h"

enum {
	DOCTOR_LOSS_PROBES = 100, /* one by one, and so many at once */
	DOCTOR_TTL = 5,           /* of our group packets */
	DOCTOR_SERVERS = 4,       /* that are told apart */
};

struct doctor_config {
	const struct sock_config *net;
	const char *server; /* -S, or NULL */
	const uint8_t *key; /* --group-key, or NULL */
	bool json;
};

/* Whether the interface can send and hear at all. */
enum doctor_link {
	DOCTOR_LINK_OK,
	DOCTOR_LINK_NO_ROUTE, /* but it has a carrier and an address */
	DOCTOR_LINK_NO_ADDRESS,
	DOCTOR_LINK_NO_CARRIER,
	DOCTOR_LINK_DOWN,
	DOCTOR_LINK_NONE, /* no interface but the loopback */
};

/* Cards that say that they have an address. */
struct doctor_arp {
	bool asked; /* only root may */
	unsigned n;
	uint8_t mac[2][ARP_MAC_BYTES];
};

/* Packets of the group at one of the two ports, from the server once it is known: at the
 * interface, and at our socket. */
struct doctor_port {
	bool open; /* the socket is */
	unsigned seen, took;
};

/* Probes, and what came of them. */
struct doctor_loss {
	unsigned sent, heard, answered, got;
	uint64_t sent_us, got_us; /* from the first to the last one */
	bool dropped_here; /* our own socket's buffer was full */
};

/* Who serves the group and port. */
struct doctor_server {
	uint8_t addr[4];
	bool any_file, has_identity;
	uint8_t identity[WIREXT_IDENTITY_BYTES];
	uint32_t chunks;
};

struct doctor_facts {
	/* This machine. */
	enum doctor_link link;
	char iface[IF_NAMESIZE];
	uint8_t addr[4], mask[4], group[4];
	uint16_t port, second; /* second: the usual one until it is known */
	uint32_t mtu;
	struct doctor_arp own; /* other machines with our address */
	bool refused_out;      /* the system does not let our packets out */
	bool member_before;    /* another program here is in the group */
	bool watched;          /* packets could be seen at the interface (root) */
	unsigned reports_out;  /* seen there */
	struct doctor_port at[2];
	bool query;
	uint8_t querier[4];
	uint64_t rpf_drops;   /* while we looked */
	uint64_t iface_drops; /* errors and drops of the interface meanwhile */
	/* The server. */
	bool named; /* by -S */
	bool server_known, replied, answers_probes;
	bool any_file; /* what it serves is no image */
	bool authenticated;     /* --group-key */
	const char *other_keys; /* what was ignored means this; NULL: nothing was */
	uint8_t server[4];
	uint32_t chunks;
	struct doctor_server servers[DOCTOR_SERVERS];
	unsigned nservers;
	unsigned group_heard; /* packets of its that reached us through the group */
	bool second_heard;    /* at the second port, too */
	uint16_t odd_port;    /* they came from this port; 0: from the right one */
	bool odd_source; /* they came from `seen`, and name `server` as the sender */
	uint8_t seen[4];
	char other_iface[IF_NAMESIZE]; /* it answers there; "" not */
	bool by_unicast;               /* it serves each client by itself */
	bool by_broadcast;
	uint8_t broadcast[4]; /* ... to there */
	/* A frisbeed there answers for another group or port; other_port 0: none does. */
	uint8_t other_group[4];
	uint16_t other_port;
	/* Its machine. */
	struct doctor_arp its; /* who has its address */
	bool refused;          /* ICMP: no such port */
	bool pinged;           /* ICMP: an echo, or of its first port */
	bool unreachable;      /* ICMP, or our own system: no such host */
	/* Answers to probes: asked through the group or directly, answered so. */
	unsigned group_group, group_direct, direct_group, direct_direct;
	bool mute; /* it says that its own machine keeps in what goes to the group */
	int hops;  /* routers between; -1 unknown */
	unsigned large_sent;
	uint32_t largest; /* packet that came back, bytes of IP */
	/* One by one; at once, short ones; at once, as long as packets with blocks. */
	struct doctor_loss loss, burst_short, burst;
	/* What a session sent between the first and the last ECHO, and what of it came. */
	struct doctor_session {
		uint32_t sent, heard; /* blocks, parity included */
		uint64_t us;
	} session;
};

enum doctor_status { DOCTOR_OK, DOCTOR_BAD, DOCTOR_UNKNOWN };

struct doctor_check {
	const char *name;
	enum doctor_status status;
	char text[400]; /* and what to do about it */
};

enum { DOCTOR_CHECKS_MAX = 20 };

struct doctor_report {
	unsigned n;
	struct doctor_check check[DOCTOR_CHECKS_MAX];
	bool well;
	char summary[500];
};

/* ERR_USAGE: there is no such interface.  ERR_IO: not even a socket can be had. */
int doctor_probe(const struct doctor_config *, struct doctor_facts *, struct err *);
void doctor_judge(const struct doctor_facts *, struct doctor_report *);

#endif /* FRISBEE_DOCTOR_DOCTOR_H */
