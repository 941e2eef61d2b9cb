/* sniff.h: what a packet that was seen on an interface has to do with a group: IGMP, or
 * UDP to the group.  Only as much of IPv4
 * and IGMP (RFC 1112, 2236, 3376) is decoded as this takes. */
#ifndef COMMON_NET_SNIFF_H
#define COMMON_NET_SNIFF_H

#include <stddef.h>
#include <stdint.h>

enum sniff_kind {
	SNIFF_OTHER,
	SNIFF_QUERY,  /* asks for the members of this group, or of any group */
	SNIFF_REPORT, /* announces a member of this group */
	SNIFF_UDP,    /* UDP to the group, at `port` */
};

struct sniff {
	enum sniff_kind kind;
	uint8_t from[4]; /* the sender's address */
	uint16_t port;   /* SNIFF_UDP: the destination port */
};

/* Decode a packet that begins with its IP header; it may be cut short.  In doubt, the kind is
 * SNIFF_OTHER. */
struct sniff sniff_packet(const void *pkt, size_t len, const uint8_t group[4]);

#endif /* COMMON_NET_SNIFF_H */
