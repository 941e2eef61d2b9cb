/* arp.c: ARP probes and their replies, to bytes and back.  frisbee/doctor/doctor_host.c
 * calls this, in the doctor's thread. */
#include "common/net/arp.h"

#include <stdio.h>

#include "common/base/rd.h"
#include "common/base/wr.h"

enum { ETHERNET = 1, IPV4 = 0x0800, REQUEST = 1, REPLY = 2 };

void
arp_put_probe(
    uint8_t pkt[ARP_BYTES], const uint8_t mac[ARP_MAC_BYTES], const uint8_t addr[4])
{
	static const uint8_t head[] = { 0, ETHERNET, IPV4 >> 8, IPV4 & 0xff, ARP_MAC_BYTES,
		4, 0, REQUEST };
	struct wr w = wr_to(pkt, ARP_BYTES);

	wr_bytes(&w, head, sizeof head);
	wr_bytes(&w, mac, ARP_MAC_BYTES);
	wr_zero(&w, 4 + ARP_MAC_BYTES);
	wr_bytes(&w, addr, 4);
}

bool
arp_get_reply(const void *pkt, size_t len, uint8_t mac[ARP_MAC_BYTES], uint8_t addr[4])
{
	struct rd r = rd_from(pkt, len);
	bool ethernet = rd_be16(&r) == ETHERNET, ipv4 = rd_be16(&r) == IPV4;
	bool sizes = rd_u8(&r) == ARP_MAC_BYTES && rd_u8(&r) == 4;
	bool reply = rd_be16(&r) == REPLY;

	rd_copy(&r, mac, ARP_MAC_BYTES);
	rd_copy(&r, addr, 4);
	rd_skip(&r, ARP_MAC_BYTES + 4);
	return rd_ok(&r) && ethernet && ipv4 && sizes && reply;
}

const char *
arp_mac_text(const uint8_t mac[ARP_MAC_BYTES], char buf[ARP_MAC_TEXT_MAX])
{
	snprintf(buf, ARP_MAC_TEXT_MAX, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1],
	    mac[2], mac[3], mac[4], mac[5]);
	return buf;
}
