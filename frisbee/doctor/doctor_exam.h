/* doctor_exam.h: one examination, in one thread:
 *
 *	doctor_probe.c	its parts in order
 *	doctor_link.c	the interface: can it send at all?
 *	doctor_ask.c	JOIN, PROBE and LEAVE
 *	doctor_loss.c	many probes, one by one and at once
 *	doctor_others.c	other interfaces, and other ways of serving
 *	doctor_host.c	the server's machine, and whose the addresses are
 *	doctor_hear.c	what comes
 *	doctor_servers.c	who serves, and the blocks that pass
 *	doctor_watch.c	what passes the interface, and what the kernel counts
 *	doctor_socks.c	the sockets
 */
#ifndef FRISBEE_DOCTOR_DOCTOR_EXAM_H
#define FRISBEE_DOCTOR_DOCTOR_EXAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/net/netif.h"
#include "common/net/sock.h"
#include "common/wire/probe.h"
#include "common/wire/wirext.h"
#include "frisbee/doctor/doctor.h"

enum {
	EXAM_OTHERS = 8, /* interfaces that are tried */
	EXAM_TTL_DIRECT = 64,
	/* Numbers of probes say what for. */
	EXAM_NUMBER_LARGE = 100,
	EXAM_NUMBER_LOSS = 200,
	EXAM_JOINS = 4,
	EXAM_REPLY_US = 500000, /* a JOIN is given so long */
	EXAM_ECHO_US = 700000,  /* probes are given so long at the end */
};

struct exam {
	const struct sock_config *net;
	struct doctor_facts *f;
	struct netif netif;
	int first, second, direct, watch; /* sockets */
	int plain;                        /* first port, no group */
	int arp, ping;
	bool ping_whole; /* it gives IP headers, too */
	struct auth *auth;
	uint8_t mac[ARP_MAC_BYTES];
	uint32_t id;
	/* Which of many probes are measured now, and which came back. */
	struct doctor_loss *measured;
	uint64_t got[(DOCTOR_LOSS_PROBES + 63) / 64], first_got_us;
	/* Blocks that came, and what was so when the first ECHO came. */
	uint32_t blocks, sent_then, blocks_then;
	uint64_t echo_us; /* 0: none did */
	int others[EXAM_OTHERS];
	struct netif other[EXAM_OTHERS];
	unsigned nothers;
};

struct heard {
	uint8_t buf[AUTH_HEADER_BYTES + WIREXT_PACKET_MAX + 1];
	const uint8_t *pkt;   /* what of it is for us, */
	size_t len, ip_bytes; /* ... and how long it is; ip_bytes: of the whole packet */
	uint8_t from[4], to[4]; /* to: of the plain socket only */
	uint16_t port;
	int ttl; /* -1 unknown */
};

/* doctor_socks.c: */
/* Bound to the address and port, with the TTL of what comes; -1. */
int exam_open_at(const uint8_t addr[4], uint16_t port, int ttl, struct err *);
int exam_open_group(
    const struct exam *, const struct netif *, uint16_t port, struct err *);
/* Bound to the port alone, on our interface, and allowed to broadcast; -1. */
int exam_open_plain(const struct exam *, struct err *);
void exam_send(struct exam *, int fd, const uint8_t addr[4], uint16_t port,
    const void *pkt, size_t len);
/* One packet, if any has come. */
bool exam_receive(struct exam *, int fd, struct heard *);

/* doctor_link.c: */
/* Which interface, and in what state; f->link says whether there is more to examine. */
int exam_find_interface(struct exam *, struct err *);

/* doctor_ask.c: */
void exam_send_join(struct exam *, int fd, const uint8_t from[4], const uint8_t to[4]);
void exam_send_leave(struct exam *, int fd, const uint8_t from[4]);
void exam_send_probe(
    struct exam *, bool to_group, unsigned number, unsigned flags, size_t len);

/* doctor_loss.c: */
int exam_loss(struct exam *, struct err *);   /* one by one */
int exam_bursts(struct exam *, struct err *); /* at once */
/* An ECHO of one of them. */
void exam_count_loss(struct exam *, const struct probe *);

/* doctor_others.c: */
int exam_try_others(struct exam *, struct err *);
void exam_close_others(struct exam *);

/* doctor_host.c: */
void exam_open_host(struct exam *);
void exam_close_host(struct exam *);
void exam_ask_addresses(struct exam *);
/* Is the server's machine there? */
int exam_host(struct exam *, struct err *);
void exam_hear_host(struct exam *);

/* doctor_hear.c: */
/* Listen for so long, or until *enough (NULL: no matter what comes). */
int exam_listen(struct exam *, uint64_t us, const bool *enough, struct err *);
void exam_note_server(struct exam *, const struct heard *, int ttl);
bool exam_is_server(const struct exam *, const uint8_t addr[4]);

/* doctor_servers.c: */
void exam_note_reply(struct exam *, const struct heard *, const struct wire_msg *);
void exam_note_state(struct exam *, const struct heard *);
/* By an ECHO: so many blocks were sent so far. */
void exam_note_session(struct exam *, uint32_t sent);

#endif /* FRISBEE_DOCTOR_DOCTOR_EXAM_H */
