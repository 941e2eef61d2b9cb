/* ping.h: ICMP echo (RFC 792), which shows whether a machine is there at all. */
#ifndef COMMON_NET_PING_H
#define COMMON_NET_PING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PING_BYTES = 8 };

/* Make an echo request, with its checksum. */
void ping_put(uint8_t pkt[PING_BYTES], uint16_t id, uint16_t number);
/* Is this packet the reply to a request with this id?  whole: pkt begins with the IP header, as
 * raw sockets give it.  Otherwise pkt begins with the ICMP header, as the kernel's ping sockets
 * give it; these sockets choose the id themselves, and it is not compared. */
bool ping_is_reply(const void *pkt, size_t len, bool whole, uint16_t id);

#endif /* COMMON_NET_PING_H */
