/* arp.h: who has an IPv4 address on this segment (RFC 826), asked without claiming one
 * (RFC 5227, section 2.1.1: a probe has the sender address 0.0.0.0, so that nobody's cache
 * changes).  Ethernet only.
 */
#ifndef COMMON_NET_ARP_H
#define COMMON_NET_ARP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ARP_BYTES = 28, ARP_MAC_BYTES = 6, ARP_MAC_TEXT_MAX = 18 };

/* A probe for `addr`, sent by the card `mac`. */
void arp_put_probe(
    uint8_t pkt[ARP_BYTES], const uint8_t mac[ARP_MAC_BYTES], const uint8_t addr[4]);
/* A packet from its ARP header on; padding may follow.  True when it is a reply: which card
 * says that it has which address. */
bool arp_get_reply(
    const void *pkt, size_t len, uint8_t mac[ARP_MAC_BYTES], uint8_t addr[4]);
/* "02:00:00:12:34:56" */
const char *arp_mac_text(
    const uint8_t mac[ARP_MAC_BYTES], char buf[ARP_MAC_TEXT_MAX]);

#endif /* COMMON_NET_ARP_H */
