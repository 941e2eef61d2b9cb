/* doctor_exam.h: one examination, which runs in one thread, and the files that do it:
 *
 *	doctor_probe.c	the parts of the examination, in order
 *	doctor_link.c	the interface, and whether it can send at all
 *	doctor_ask.c	sends JOIN, PROBE and LEAVE
 *	doctor_loss.c	sends many probes, one by one and at once
 *	doctor_others.c	other interfaces, and other ways of serving
 *	doctor_host.c	the server's machine, and which machines have the addresses
 *	doctor_hear.c	the packets that come
 *	doctor_servers.c	which hosts serve, and how many blocks come
 *	doctor_watch.c	packets that pass the interface, and counters of the kernel
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
	EXAM_OTHERS = 8, /* the most other interfaces that are tried */
	EXAM_TTL_DIRECT = 64,
	/* The number of a probe says its purpose: large probes begin at the first of these,
	 * probes that measure loss at the second. */
	EXAM_NUMBER_LARGE = 100,
	EXAM_NUMBER_LOSS = 200,
	EXAM_JOINS = 4,
	EXAM_REPLY_US = 500000, /* the answer to a JOIN is waited for this long */
	EXAM_ECHO_US = 700000,  /* ECHOs are waited for half of this after the last probe */
	/* The most packets that are taken from a socket before the clock is looked at, so that a
	 * flood does not hold the examination.  The buffer of a socket holds fewer. */
	EXAM_TURN_PACKETS = 4096,
};

struct exam {
	const struct sock_config *net;
	struct doctor_facts *f;
	struct netif netif;
	int first, second, direct, watch; /* sockets */
	int plain;                        /* a socket at the first port, in no group */
	int arp, ping;   /* sockets for ARP and for ICMP echo; -1: none */
	bool ping_whole; /* the ping socket gives IP headers, too */
	struct auth *auth;
	uint8_t mac[ARP_MAC_BYTES];
	uint32_t id;
	/* The measurement that runs now (NULL: none), the probes that an ECHO came for (one bit
	 * each), and when the first ECHO came. */
	struct doctor_loss *measured;
	uint64_t got[(DOCTOR_LOSS_PROBES + 63) / 64], first_got_us;
	/* Blocks that came so far, and those of them that had come before this turn;
	 * at the first ECHO: blocks that the server had sent, blocks that had come,
	 * and the time. */
	uint32_t blocks, blocks_before, sent_then, blocks_then;
	uint64_t echo_us; /* 0: no ECHO came yet */
	bool echo_came;   /* in this turn */
	int others[EXAM_OTHERS];
	struct netif other[EXAM_OTHERS];
	unsigned nothers;
};

struct heard {
	uint8_t buf[AUTH_HEADER_BYTES + WIREXT_PACKET_MAX + 1];
	const uint8_t *pkt;   /* the message in buf, without the header of authentication */
	size_t len, ip_bytes; /* bytes of the message, and of the whole IP packet */
	uint8_t from[4], to[4]; /* to: known for the plain socket only, else 0 */
	uint16_t port;
	int ttl; /* -1 unknown */
};

/* doctor_socks.c: */
/* Opens a socket bound to the address and port, which sends unicast with this TTL and tells the
 * TTL of packets that come.  Returns a descriptor; -1: ERR_IO. */
int exam_open_at(const uint8_t addr[4], uint16_t port, int ttl, struct err *);
/* Opens a socket at the port that is a member of the group on this interface.  Returns a
 * descriptor; -1: ERR_IO. */
int exam_open_group(
    const struct exam *, const struct netif *, uint16_t port, struct err *);
/* Opens a socket bound to the first port and no address, in no group, which may broadcast and
 * tells the address that packets were sent to.  Returns a descriptor; -1: ERR_IO. */
int exam_open_plain(const struct exam *, struct err *);
/* Sends a packet, authenticated when there is a key; fd -1 sends nothing.  A refusal by the
 * system is noted in the facts. */
void exam_send(struct exam *, int fd, const uint8_t addr[4], uint16_t port,
    const void *pkt, size_t len);
/* Takes the next error that came for what a socket has sent.  Returns its errno, or 0: there is
 * none, or no socket.  recvmsg() tells an error once, too, but does not take it away. */
int exam_error(int fd);
/* Takes one packet, without waiting, and opens it when packets are authenticated.  *left is how
 * many packets may still be taken in this turn, and counts also those that cannot be opened.
 * False: none has come, and errno says why, or *left is 0, and errno is EAGAIN.  fd -1 has
 * none. */
bool exam_receive(struct exam *, int fd, struct heard *, unsigned *left);

/* doctor_link.c: */
/* Finds the interface and its state.  There is more to examine only when f->link is
 * DOCTOR_LINK_OK.  -1: the interface that the user named does not exist. */
int exam_find_interface(struct exam *, struct err *);

/* doctor_ask.c: */
/* JOIN and LEAVE go to the first port, LEAVE to the group.  from: the address that the message
 * names as its sender. */
void exam_send_join(struct exam *, int fd, const uint8_t from[4], const uint8_t to[4]);
void exam_send_leave(struct exam *, int fd, const uint8_t from[4]);
/* Sends a PROBE of len bytes to the second port, through the group or to the server's address.
 * flags: PROBE_GROUP, PROBE_DIRECT: how the ECHO is to come. */
void exam_send_probe(
    struct exam *, bool to_group, unsigned number, unsigned flags, size_t len);

/* doctor_loss.c: */
/* When the next probe is due, after one that was due and one that was sent at these times:
 * space_us later.  The program may be `behind` probes late and makes up for them. */
uint64_t exam_next_us(
    uint64_t due_us, uint64_t sent_us, uint64_t space_us, unsigned behind);
int exam_loss(struct exam *, struct err *);   /* sends probes one by one */
int exam_bursts(struct exam *, struct err *); /* sends probes at once */
/* Counts the ECHO of one of these probes. */
void exam_count_loss(struct exam *, const struct probe *);

/* doctor_others.c: */
/* Asks for a server on other interfaces, by unicast and by broadcast.  -1: cancelled. */
int exam_try_others(struct exam *, struct err *);
void exam_close_others(struct exam *);

/* doctor_host.c: */
/* Open and close the sockets for ARP and ICMP; without permission there are none. */
void exam_open_host(struct exam *);
void exam_close_host(struct exam *);
/* Sends ARP requests for this machine's address, and for the server's when it is a neighbour. */
void exam_ask_addresses(struct exam *);
/* Finds out whether the server's machine is there.  -1: cancelled. */
int exam_host(struct exam *, struct err *);
/* Takes the answers to ARP requests and pings that have come, of one turn. */
void exam_hear_host(struct exam *);

/* doctor_hear.c: */
/* Takes all packets that come for this time, or until *enough is true (NULL: for the whole time).
 * -1: cancelled. */
int exam_listen(struct exam *, uint64_t us, const bool *enough, struct err *);
/* Notes that this packet came from the server, which sent it with this TTL. */
void exam_note_server(struct exam *, const struct heard *, int ttl);
/* Is this the server's address?  True for any address until the server is known. */
bool exam_is_server(const struct exam *, const uint8_t addr[4]);

/* doctor_servers.c: */
/* Notes the answer to JOIN, m, which the packet contains. */
void exam_note_reply(struct exam *, const struct heard *, const struct wire_msg *);
/* Notes a message of the extension. */
void exam_note_state(struct exam *, const struct heard *);
/* An ECHO says that the server has sent this number of blocks so far.  What came of
 * them is known at the end of the turn. */
void exam_note_session(struct exam *, uint32_t sent);
void exam_note_heard(struct exam *);

#endif /* FRISBEE_DOCTOR_DOCTOR_EXAM_H */
