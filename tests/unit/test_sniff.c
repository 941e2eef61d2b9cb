/* What is told from packets on an interface; every truncation is nothing at all. */
#include <string.h>

#include "common/net/sniff.h"
#include "tests/t.h"

static const uint8_t group[4] = { 239, 192, 7, 7 };

/* An IP header of 24 bytes (router alert), then the body. */
static size_t
packet(uint8_t *to, unsigned protocol, const uint8_t dst[4], const void *body, size_t n)
{
	static const uint8_t src[4] = { 10, 9, 0, 2 };

	memset(to, 0, 24);
	to[0] = 0x46;
	to[9] = (uint8_t)protocol;
	memcpy(to + 12, src, 4);
	memcpy(to + 16, dst, 4);
	to[20] = 0x94;
	to[21] = 4;
	memcpy(to + 24, body, n);
	return 24 + n;
}

/* The kind, if nothing shorter than `needs` bytes of body has it. */
static enum sniff_kind
kind(unsigned protocol, const void *body, size_t n, size_t needs)
{
	uint8_t pkt[128];
	size_t len = packet(pkt, protocol, group, body, n);
	enum sniff_kind k = sniff_packet(pkt, len, group).kind;

	for (size_t cut = 0; k != SNIFF_OTHER && cut < 24 + needs; cut++)
		if (sniff_packet(pkt, cut, group).kind != SNIFF_OTHER)
			return SNIFF_OTHER;
	return k;
}

static void
test_igmp(void)
{
	static const uint8_t any[] = { 0x11, 100, 0, 0, 0, 0, 0, 0, 2, 125, 0, 0 },
			     ours[] = { 0x11, 10, 0, 0, 239, 192, 7, 7 },
			     other[] = { 0x11, 10, 0, 0, 239, 192, 7, 8 },
			     v2[] = { 0x16, 0, 0, 0, 239, 192, 7, 7 },
			     leave2[] = { 0x17, 0, 0, 0, 239, 192, 7, 7 };

	T_CHECK(kind(2, any, sizeof any, 8) == SNIFF_QUERY);
	T_CHECK(kind(2, ours, sizeof ours, 8) == SNIFF_QUERY);
	T_CHECK(kind(2, other, sizeof other, 8) == SNIFF_OTHER);
	T_CHECK(kind(2, v2, sizeof v2, 8) == SNIFF_REPORT);
	T_CHECK(kind(2, leave2, sizeof leave2, 8) == SNIFF_OTHER);
}

static void
test_igmp3(void)
{
	/* Two records: another group with a source and 4 bytes more, then ours. */
	uint8_t v3[] = { 0x22, 0, 0, 0, 0, 0, 0, 2, 4, 1, 0, 1, 239, 1, 1, 1, 10, 0, 0,
		1, 0, 0, 0, 0, 4, 0, 0, 0, 239, 192, 7, 7 };

	T_CHECK(kind(2, v3, sizeof v3, sizeof v3) == SNIFF_REPORT);
	v3[24] = 3; /* TO_INCLUDE nothing: it leaves */
	T_CHECK(kind(2, v3, sizeof v3, sizeof v3) == SNIFF_OTHER);
	v3[24] = 2;
	T_CHECK(kind(2, v3, sizeof v3, sizeof v3) == SNIFF_REPORT);
	v3[7] = 1;
	T_CHECK(kind(2, v3, sizeof v3, sizeof v3) == SNIFF_OTHER);
	v3[6] = 0xff; /* more than there are */
	T_CHECK(kind(2, v3, sizeof v3, sizeof v3) == SNIFF_REPORT);
	v3[10] = 0xff;
	T_CHECK(kind(2, v3, sizeof v3, sizeof v3) == SNIFF_OTHER);
}

static void
test_udp(void)
{
	static const uint8_t udp[] = { 0x13, 0x8f, 0x13, 0x90, 0, 8, 0, 0 };
	uint8_t pkt[128];
	size_t len = packet(pkt, 17, group, udp, sizeof udp);
	struct sniff s = sniff_packet(pkt, len, group);

	T_CHECK(s.kind == SNIFF_UDP);
	T_CHECK(s.port == 5008);
	T_CHECK(s.from[0] == 10);
	T_CHECK(s.from[3] == 2);
	T_CHECK(kind(17, udp, sizeof udp, 4) == SNIFF_UDP);
	pkt[19] = 8;
	T_CHECK(sniff_packet(pkt, len, group).kind == SNIFF_OTHER);
	T_CHECK(kind(6, udp, sizeof udp, 4) == SNIFF_OTHER);
	packet(pkt, 17, group, udp, sizeof udp);
	pkt[0] = 0x44; /* a header shorter than any */
	T_CHECK(sniff_packet(pkt, len, group).kind == SNIFF_OTHER);
	pkt[0] = 0x66;
	T_CHECK(sniff_packet(pkt, len, group).kind == SNIFF_OTHER);
}

int
main(void)
{
	test_igmp();
	test_igmp3();
	test_udp();
	return t_done();
}
