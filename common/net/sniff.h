/* sniff.h: what a packet that was seen on an interface has to do with a group: IGMP, or
 * UDP to the group.  Only enough of IPv4 and IGMP (RFC 1112, 2236, 3376) to tell. */
#ifndef COMMON_NET_SNIFF_H
#define COMMON_NET_SNIFF_H

#include <stddef.h>
#include <stdint.h>

enum sniff_kind {
	SNIFF_OTHER,
	SNIFF_QUERY,  /* asks who is a member (of this group, or of any) */
	SNIFF_REPORT, /* announces a member of this group */
	SNIFF_UDP,    /* to the group; port says where */
};

struct sniff {
	enum sniff_kind kind;
	uint8_t from[4];
	uint16_t port;
};

/* A packet from its IP header on; it may be cut short.  SNIFF_OTHER when in doubt. */
struct sniff sniff_packet(const void *pkt, size_t len, const uint8_t group[4]);

#endif /* COMMON_NET_SNIFF_H */
