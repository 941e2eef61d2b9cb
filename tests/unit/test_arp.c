/* ARP probes and ICMP echos: byte for byte, every truncation, and what is no answer. */
#include <string.h>

#include "common/net/arp.h"
#include "common/net/ping.h"
#include "tests/t.h"

static const uint8_t mac[] = { 2, 0, 0, 0x12, 0x34, 0x56 }, addr[] = { 10, 9, 0, 1 };

static void
test_probe(void)
{
	static const uint8_t want[ARP_BYTES] = { 0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0x12,
		0x34, 0x56, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 9, 0, 1 };
	uint8_t pkt[ARP_BYTES], m[6], a[4];
	char text[ARP_MAC_TEXT_MAX];

	arp_put_probe(pkt, mac, addr);
	T_CHECK(memcmp(pkt, want, sizeof want) == 0);
	T_CHECK(!arp_get_reply(pkt, sizeof pkt, m, a));
	T_CHECK(strcmp(arp_mac_text(mac, text), "02:00:00:12:34:56") == 0);
}

static void
test_reply(void)
{
	uint8_t reply[46] = { 0, 1, 8, 0, 6, 4, 0, 2, 2, 0, 0, 0x12, 0x34, 0x56, 10, 9, 0,
		1 };
	uint8_t m[6], a[4];

	T_CHECK(arp_get_reply(reply, sizeof reply, m, a));
	T_CHECK(memcmp(m, mac, 6) == 0);
	T_CHECK(memcmp(a, addr, 4) == 0);
	T_CHECK(arp_get_reply(reply, ARP_BYTES, m, a));
	for (size_t n = 0; n < ARP_BYTES; n++)
		T_CHECK(!arp_get_reply(reply, n, m, a));
	/* Another kind of network, of address, of question. */
	for (unsigned i = 0; i < 8; i++) {
		reply[i] ^= 4;
		T_CHECK(!arp_get_reply(reply, sizeof reply, m, a));
		reply[i] ^= 4;
	}
}

static void
test_ping(void)
{
	static const uint8_t want[PING_BYTES] = { 8, 0, 0xe5, 0xc8, 0x12, 0x34, 0, 3 };
	uint8_t pkt[28] = { 0x45, 0, 0, 28, 0, 0, 0, 0, 64, 1 };

	ping_put(pkt + 20, 0x1234, 3);
	T_CHECK(memcmp(pkt + 20, want, sizeof want) == 0);
	T_CHECK(!ping_is_reply(pkt, sizeof pkt, true, 0x1234));
	pkt[20] = 0;
	T_CHECK(ping_is_reply(pkt, sizeof pkt, true, 0x1234));
	T_CHECK(!ping_is_reply(pkt, sizeof pkt, true, 0x1235));
	T_CHECK(ping_is_reply(pkt + 20, PING_BYTES, false, 0));
	for (size_t n = 0; n < sizeof pkt; n++)
		T_CHECK(!ping_is_reply(pkt, n, true, 0x1234));
	for (size_t n = 0; n < PING_BYTES; n++)
		T_CHECK(!ping_is_reply(pkt + 20, n, false, 0));
	pkt[0] = 0x46; /* options that are not there */
	T_CHECK(!ping_is_reply(pkt, sizeof pkt, true, 0x1234));
	pkt[0] = 0x44;
	T_CHECK(!ping_is_reply(pkt, sizeof pkt, true, 0x1234));
	pkt[0] = 0x45;
	pkt[9] = 17;
	T_CHECK(!ping_is_reply(pkt, sizeof pkt, true, 0x1234));
}

int
main(void)
{
	test_probe();
	test_reply();
	test_ping();
	return t_done();
}
