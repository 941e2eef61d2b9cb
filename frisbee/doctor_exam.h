/* doctor_exam.h: one examination: its sockets (doctor_socks.c), what they hear
 * (doctor_hear.c), and what is asked (doctor_probe.c). */
#ifndef FRISBEE_DOCTOR_EXAM_H
#define FRISBEE_DOCTOR_EXAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/net/netif.h"
#include "common/net/probe.h"
#include "common/net/sock.h"
#include "common/net/wirext.h"
#include "frisbee/doctor.h"

enum {
	EXAM_OTHERS = 8, /* interfaces that are tried */
	EXAM_TTL_DIRECT = 64,
	/* Numbers of probes say what for. */
	EXAM_NUMBER_LARGE = 100,
	EXAM_NUMBER_LOSS = 200,
};

struct exam {
	const struct sock_config *net;
	struct doctor_facts *f;
	struct netif netif;
	int first, second, direct, watch; /* sockets */
	struct auth *auth;
	uint32_t id;
	uint64_t got[(DOCTOR_LOSS_PROBES + 63) / 64];
	int others[EXAM_OTHERS];
	struct netif other[EXAM_OTHERS];
	unsigned nothers;
};

struct heard {
	uint8_t buf[AUTH_HEADER_BYTES + WIREXT_PACKET_MAX];
	const uint8_t *pkt; /* what of it is for us */
	size_t len, ip_bytes; /* ip_bytes: of the whole packet */
	uint8_t from[4];
	uint16_t port;
	int ttl; /* -1 unknown */
};

/* doctor_socks.c: */
/* Bound to the address and port, with the TTL of what comes; -1. */
int exam_open_at(const uint8_t addr[4], uint16_t port, int ttl, struct err *);
int exam_open_group(
    const struct exam *, const struct netif *, uint16_t port, struct err *);
void exam_send(struct exam *, int fd, const uint8_t addr[4], uint16_t port,
    const void *pkt, size_t len);
/* One packet, if any has come. */
bool exam_receive(struct exam *, int fd, struct heard *);
uint32_t exam_mtu(const char *iface); /* 0: not known */

/* doctor_hear.c: */
/* Listen for so long, or until *enough (NULL: no matter what comes). */
int exam_listen(struct exam *, uint64_t us, const bool *enough, struct err *);

#endif /* FRISBEE_DOCTOR_EXAM_H */
