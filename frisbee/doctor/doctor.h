/* doctor.h: "frisbee --doctor": why does multicast not arrive here?
 *
 * doctor_probe.c finds the facts (doctor_exam.h says which file does which part of it),
 * doctor_judge.c says in words what the facts mean, and frisbee/diagnose.c prints these words.
 * Nothing is loaded, and no session is disturbed: the server is only asked for its answer to
 * JOIN, and for ECHOs (docs/protocol-wire.md).
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
	DOCTOR_LOSS_PROBES = 100, /* in each of the three measurements of loss */
	/* between probes of a burst: 2000 a second, 17 Mbit/s when they are long */
	DOCTOR_BURST_US = 500,
	DOCTOR_TTL = 5,           /* of packets that the doctor sends to the group */
	DOCTOR_SERVERS = 4,       /* the most servers that are told apart */
};

struct doctor_config {
	const struct sock_config *net;
	const char *server; /* -S, or NULL */
	const uint8_t *key; /* --group-key, or NULL */
	bool json;
	const char *report; /* --report: the file to make; NULL: none */
	bool names;         /* --report-names: nothing is hidden in it */
};

/* Whether the interface can send and hear at all. */
enum doctor_link {
	DOCTOR_LINK_OK,
	DOCTOR_LINK_NO_ROUTE, /* it has a carrier and an address, but no route to the group */
	DOCTOR_LINK_NO_ADDRESS,
	DOCTOR_LINK_NO_CARRIER,
	DOCTOR_LINK_DOWN,
	DOCTOR_LINK_NONE, /* no interface but the loopback */
};

/* The network cards that answered an ARP request for one address. */
struct doctor_arp {
	bool asked; /* an ARP request was sent, which only root may */
	unsigned n;
	uint8_t mac[2][ARP_MAC_BYTES];
};

/* Packets to the group at one of the two ports.  As soon as the server is known, only its
 * packets count. */
struct doctor_port {
	bool open; /* the socket of this port is open */
	unsigned seen, took; /* packets at the interface; packets that the socket received */
};

/* One measurement of loss: how many probes were sent, and how many packets of each kind
 * arrived. */
struct doctor_loss {
	/* Probes sent; probes that the server received; ECHOs that it sent; ECHOs that came. */
	unsigned sent, heard, answered, got;
	/* sent_us: time from the first to the last probe that was to be sent; got_us: from the
	 * first to the last ECHO that came */
	uint64_t sent_us, got_us;
	bool dropped_here; /* a socket buffer of this machine was full */
};

/* A host that serves the group and port. */
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
	uint16_t port, second; /* second: port + 1 until the server names it */
	uint32_t mtu;
	struct doctor_arp own; /* other machines that have the address of this one */
	bool refused_out;      /* the system does not let packets of the doctor out */
	bool member_before;    /* another program here is in the group */
	bool watched;          /* packets could be seen at the interface (root) */
	unsigned reports_out;  /* IGMP reports of this machine seen at the interface */
	struct doctor_port at[2];
	bool query;
	uint8_t querier[4];
	uint64_t rpf_drops;   /* packets that rp_filter dropped during the examination */
	uint64_t iface_drops; /* errors and overruns of the interface in that time */
	/* packets in that time that came when the buffer of a socket of this machine
	 * was full */
	uint64_t buffer_drops;
	/* The server. */
	bool named; /* the server was named by -S */
	bool server_known, replied, answers_probes;
	bool any_file; /* the server serves a file that is no image */
	bool authenticated;     /* --group-key */
	const char *other_keys; /* why packets were ignored; NULL: none were */
	uint8_t server[4];
	uint32_t chunks;
	struct doctor_server servers[DOCTOR_SERVERS];
	unsigned nservers;
	unsigned group_heard; /* packets of the server that came through the group */
	bool first_heard;     /* such packets came at the first port */
	bool second_heard;    /* such packets came at the second port, too */
	uint16_t odd_port;    /* its packets came from this port; 0: from the right one */
	bool odd_source; /* its packets came from `seen`, but name `said` as the sender */
	uint8_t seen[4], said[4]; /* of the last packet with a wrong port or address */
	char other_iface[IF_NAMESIZE]; /* the server answers on this interface; "": on none */
	bool by_unicast;               /* the server serves each client by unicast */
	bool by_broadcast;
	uint8_t broadcast[4]; /* with by_broadcast: the address it sends to */
	/* A frisbeed at the server's address answers for this other group and port;
	 * other_port 0: none does. */
	uint8_t other_group[4];
	uint16_t other_port;
	/* The server's machine. */
	struct doctor_arp its; /* machines that have the server's address */
	bool refused;          /* ICMP: the second port is closed */
	bool pinged;           /* an ICMP echo reply, or ICMP: the first port is closed */
	bool unreachable;      /* ICMP, or this system: host unreachable */
	/* ECHOs that came.  The first word says how the probe reached the server, the second one
	 * how the ECHO came: through the group, or directly (by unicast). */
	unsigned group_group, group_direct, direct_group, direct_direct;
	bool mute; /* the server says that its machine lets no packet to the group out */
	int hops;  /* routers between the server and this machine; -1: unknown */
	unsigned large_sent;
	uint32_t largest; /* the largest ECHO to a large probe, in bytes of the IP packet */
	/* Loss of probes sent one by one; of short probes sent at once; of probes sent at once
	 * that are as long as packets with blocks. */
	struct doctor_loss loss, burst_short, burst;
	/* What a session sent between the first and the last ECHO, and how much of it came. */
	struct doctor_session {
		uint32_t sent, heard; /* blocks, parity included */
		uint64_t us;          /* time between these two ECHOs */
	} session;
};

enum doctor_status { DOCTOR_OK, DOCTOR_BAD, DOCTOR_UNKNOWN };

struct doctor_check {
	const char *name;
	enum doctor_status status;
	char text[400]; /* what was found, and what to do about it */
};

enum { DOCTOR_CHECKS_MAX = 20 };

struct doctor_report {
	unsigned n;
	struct doctor_check check[DOCTOR_CHECKS_MAX];
	bool well;
	char summary[500];
};

/* Examines the network for some seconds, and fills in the facts.  ERR_ABSENT: there is no such
 * interface.  ERR_IO: not even a socket can be made. */
int doctor_probe(const struct doctor_config *, struct doctor_facts *, struct err *);
/* Says in the report, which it overwrites, what the facts mean: one sentence for each check, and
 * a summary. */
void doctor_judge(const struct doctor_facts *, struct doctor_report *);

#endif /* FRISBEE_DOCTOR_DOCTOR_H */
