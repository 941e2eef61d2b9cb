/* sniff.c: IP packets that were captured on an interface are decoded: IGMP, and UDP to the
 * group.  frisbee --doctor calls this, in the thread that watches. */
#include "common/net/sniff.h"

#include <string.h>

#include "common/base/rd.h"

enum {
	IGMP = 2,
	UDP = 17,
	QUERY = 0x11,
	REPORT_V1 = 0x12,
	REPORT_V2 = 0x16,
	REPORT_V3 = 0x22,
	/* The kinds of records in IGMP version 3 that announce a member. */
	IS_EXCLUDE = 2,
	TO_EXCLUDE = 4,
};

static bool
is_group(struct rd *r, const uint8_t group[4])
{
	uint8_t g[4];

	rd_copy(r, g, sizeof g);
	return rd_ok(r) && memcmp(g, group, sizeof g) == 0;
}

static bool
report3_has(struct rd *r, const uint8_t group[4])
{
	rd_skip(r, 2);
	for (unsigned n = rd_be16(r); n > 0 && rd_ok(r); n--) {
		unsigned type = rd_u8(r), extra = rd_u8(r), sources = rd_be16(r);
		if (is_group(r, group) && (type == IS_EXCLUDE || type == TO_EXCLUDE))
			return true;
		rd_skip(r, 4 * (size_t)(extra + sources));
	}
	return false;
}

static enum sniff_kind
igmp(struct rd *r, const uint8_t group[4])
{
	static const uint8_t any[4];
	unsigned type = rd_u8(r);
	struct rd again;

	rd_skip(r, 3);
	again = *r;
	if (type == QUERY)
		return is_group(r, group) || is_group(&again, any) ? SNIFF_QUERY
		                                                   : SNIFF_OTHER;
	if (type == REPORT_V1 || type == REPORT_V2)
		return is_group(r, group) ? SNIFF_REPORT : SNIFF_OTHER;
	if (type == REPORT_V3)
		return report3_has(r, group) ? SNIFF_REPORT : SNIFF_OTHER;
	return SNIFF_OTHER;
}

struct sniff
sniff_packet(const void *pkt, size_t len, const uint8_t group[4])
{
	struct sniff s = { .kind = SNIFF_OTHER };
	struct rd r = rd_from(pkt, len);
	unsigned first = rd_u8(&r);

	rd_skip(&r, 8);
	unsigned protocol = rd_u8(&r);
	rd_skip(&r, 2);
	rd_copy(&r, s.from, sizeof s.from);
	bool to_group = is_group(&r, group);
	if (first >> 4 != 4 || (first & 15) < 5)
		return s;
	rd_skip(&r, 4 * (size_t)(first & 15) - 20);
	if (protocol == IGMP && rd_ok(&r)) {
		s.kind = igmp(&r, group);
	} else if (protocol == UDP && to_group) {
		rd_skip(&r, 2);
		s.port = rd_be16(&r);
		s.kind = rd_ok(&r) ? SNIFF_UDP : SNIFF_OTHER;
	}
	return s;
}
