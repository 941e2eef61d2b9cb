/* ping.h: ICMP echo (RFC 792): is a machine there at all? */
#ifndef COMMON_NET_PING_H
#define COMMON_NET_PING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PING_BYTES = 8 };

/* An echo request with its checksum. */
void ping_put(uint8_t pkt[PING_BYTES], uint16_t id, uint16_t number);
/* Is this the reply to one of our requests?  With `whole` pkt begins with the IP header, as
 * raw sockets give it; else with the ICMP header, as the kernel's ping sockets give it,
 * which choose the id themselves. */
bool ping_is_reply(const void *pkt, size_t len, bool whole, uint16_t id);

#endif /* COMMON_NET_PING_H */
