/* doctor.h: "frisbee --doctor": why does multicast not arrive here?
 *
 * doctor_probe.c finds facts out, doctor_judge.c says in words what they mean, doctor.c
 * prints it.  Nothing is loaded, and no session notices: the server is only asked for
 * its answer to JOIN, and for ECHOs (docs/protocol.md).
 */
#ifndef FRISBEE_DOCTOR_H
#define FRISBEE_DOCTOR_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/net/sock.h"

enum { DOCTOR_LOSS_PROBES = 100, DOCTOR_TTL = 5 /* of our group packets */ };

struct doctor_config {
	const struct sock_config *net;
	const char *server; /* -S, or NULL */
	const uint8_t *key; /* --group-key, or NULL */
	bool json;
};

struct doctor_facts {
	/* This machine. */
	char iface[IF_NAMESIZE];
	uint8_t addr[4], group[4];
	uint16_t port, second; /* second: the usual one until it is known */
	uint32_t mtu;
	bool refused_out;   /* the system does not let our packets out */
	bool member_before; /* another program here is in the group */
	bool watched;       /* packets could be seen at the interface (root) */
	unsigned reports_out, group_in; /* seen there */
	bool query;
	uint8_t querier[4];
	uint64_t rpf_drops; /* while we looked */
	/* The server. */
	bool server_known, replied, answers_probes, refused; /* ICMP: no such port */
	bool any_file; /* what it serves is no image */
	bool authenticated;        /* --group-key */
	const char *other_keys;    /* what was ignored means this; NULL: nothing was */
	uint8_t server[4];
	uint32_t chunks;
	unsigned group_heard; /* packets of its that reached us through the group */
	uint16_t odd_port;    /* they came from this port; 0: from the right one */
	bool odd_source; /* they came from `seen`, and name `server` as the sender */
	uint8_t seen[4];
	char other_iface[IF_NAMESIZE]; /* it answers there; "" not */
	/* Answers to probes: asked through the group or directly, answered so. */
	unsigned group_group, group_direct, direct_direct;
	int hops; /* routers between; -1 unknown */
	unsigned large_sent;
	uint32_t largest; /* packet that came back, bytes of IP */
	struct doctor_loss {
		unsigned sent, heard, answered, got;
	} loss;
};

enum doctor_status { DOCTOR_OK, DOCTOR_BAD, DOCTOR_UNKNOWN };

struct doctor_check {
	const char *name;
	enum doctor_status status;
	char text[400]; /* and what to do about it */
};

enum { DOCTOR_CHECKS_MAX = 13 };

struct doctor_report {
	unsigned n;
	struct doctor_check check[DOCTOR_CHECKS_MAX];
	bool well;
	char summary[500];
};

/* ERR_IO: not even a socket can be had. */
int doctor_probe(const struct doctor_config *, struct doctor_facts *, struct err *);
void doctor_judge(const struct doctor_facts *, struct doctor_report *);
/* All of it; 0 all is well, 1 it is not, -1. */
int doctor_run(const struct doctor_config *, struct err *);

#endif /* FRISBEE_DOCTOR_H */
