/* arp.h: packets that ask which card has an IPv4 address on this segment (RFC 826), without
 * claiming an address: a probe has the sender address 0.0.0.0, so that no cache changes
 * (RFC 5227, section 2.1.1).  Ethernet only.
 */
#ifndef COMMON_NET_ARP_H
#define COMMON_NET_ARP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ARP_BYTES = 28, ARP_MAC_BYTES = 6, ARP_MAC_TEXT_MAX = 18 };

/* Make a probe for `addr`, sent by the card `mac`. */
void arp_put_probe(
    uint8_t pkt[ARP_BYTES], const uint8_t mac[ARP_MAC_BYTES], const uint8_t addr[4]);
/* Decode a packet that begins with its ARP header; padding may follow.  True: the packet is a
 * reply, in which the card `mac` says that it has `addr`. */
bool arp_get_reply(
    const void *pkt, size_t len, uint8_t mac[ARP_MAC_BYTES], uint8_t addr[4]);
/* Write the address of a card into buf: "02:00:00:12:34:56".  Returns buf. */
const char *arp_mac_text(
    const uint8_t mac[ARP_MAC_BYTES], char buf[ARP_MAC_TEXT_MAX]);

#endif /* COMMON_NET_ARP_H */
