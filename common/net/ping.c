/* ping.c: ICMP echo requests and replies, to bytes and back.  frisbee/doctor/doctor_host.c
 * calls this, in the doctor's thread. */
#include "common/net/ping.h"

#include "common/base/rd.h"
#include "common/base/wr.h"

enum { ECHO_REPLY = 0, ECHO_REQUEST = 8, ICMP = 1 };

static void
put_be16(struct wr *w, unsigned v)
{
	wr_u8(w, (uint8_t)(v >> 8));
	wr_u8(w, (uint8_t)v);
}

void
ping_put(uint8_t pkt[PING_BYTES], uint16_t id, uint16_t number)
{
	struct wr w = wr_to(pkt, PING_BYTES);
	/* All fields but type, id and number are zero, so these three make the checksum. */
	uint32_t sum = (ECHO_REQUEST << 8) + (uint32_t)id + number;

	sum = (sum >> 16) + (sum & 0xffff);
	sum += sum >> 16;
	put_be16(&w, ECHO_REQUEST << 8);
	put_be16(&w, ~sum & 0xffff);
	put_be16(&w, id);
	put_be16(&w, number);
}

bool
ping_is_reply(const void *pkt, size_t len, bool whole, uint16_t id)
{
	struct rd r = rd_from(pkt, len);

	if (whole) {
		unsigned first = rd_u8(&r);
		rd_skip(&r, 8);
		unsigned protocol = rd_u8(&r);
		if (first >> 4 != 4 || (first & 15) < 5 || protocol != ICMP)
			return false;
		rd_skip(&r, 4 * (size_t)(first & 15) - 10);
	}
	unsigned type = rd_u8(&r), code = rd_u8(&r);
	rd_skip(&r, 2);
	unsigned theirs = rd_be16(&r);
	rd_skip(&r, 2);
	return rd_ok(&r) && type == ECHO_REPLY && code == 0 && (!whole || theirs == id);
}
