/* Packets: every captured one survives decoding and encoding to the byte; what is
 * cut, negative or out of range is refused. */
#include <stdlib.h>
#include <string.h>

#include "common/base/rd.h"
#include "common/base/wr.h"
#include "common/wire/wire.h"
#include "tests/t.h"

enum { PCAP_MAGIC = 0xa1b2c3d4, LINK_ETHERNET = 1, PROTO_UDP = 17, SUBTYPES = 8 };

struct capture {
	uint8_t *bytes;
	size_t len;
	struct rd at;
};

static bool
capture_open(struct capture *c, const char *path)
{
	FILE *f = fopen(path, "rb");

	memset(c, 0, sizeof *c);
	if (f == NULL)
		return false;
	fseek(f, 0, SEEK_END);
	c->len = (size_t)ftell(f);
	rewind(f);
	c->bytes = malloc(c->len + 1);
	bool read = c->bytes != NULL && fread(c->bytes, 1, c->len, f) == c->len;
	fclose(f);
	c->at = rd_from(c->bytes, c->len);
	uint32_t magic = rd_le32(&c->at);
	rd_skip(&c->at, 16);
	return read && magic == PCAP_MAGIC && rd_le32(&c->at) == LINK_ETHERNET;
}

static uint16_t
be16(struct rd *r)
{
	uint16_t hi = rd_u8(r);

	return (uint16_t)(hi << 8 | rd_u8(r));
}

/* The payload of an Ethernet frame that holds one whole UDP datagram over IPv4. */
static bool
udp_payload(struct rd frame, const uint8_t **data, size_t *len)
{
	rd_skip(&frame, 12);
	if (be16(&frame) != 0x0800)
		return false;
	uint8_t ihl = rd_u8(&frame) & 15;
	rd_skip(&frame, 8);
	uint8_t proto = rd_u8(&frame);
	rd_skip(&frame, 10u + (ihl > 5 ? (ihl - 5u) * 4 : 0));
	rd_skip(&frame, 4);
	uint16_t udp_len = be16(&frame);
	rd_skip(&frame, 2);
	if (proto != PROTO_UDP || !rd_ok(&frame) || udp_len < 8)
		return false;
	*len = udp_len - 8u;
	*data = rd_bytes(&frame, *len);
	return *data != NULL;
}

static bool
capture_next(struct capture *c, const uint8_t **data, size_t *len)
{
	while (rd_left(&c->at) > 0) {
		rd_skip(&c->at, 8);
		uint32_t kept = rd_le32(&c->at);
		rd_skip(&c->at, 4);
		struct rd frame = rd_sub(&c->at, kept);
		if (udp_payload(frame, data, len))
			return true;
	}
	return false;
}

/* JOIN2 requests carry garbage in two fields; ours are zero there. */
static void
expected_bytes(const struct wire_msg *m, const uint8_t *data, size_t len, uint8_t *want)
{
	memcpy(want, data, len);
	if (m->subtype == WIRE_JOIN2 && m->type == WIRE_REQUEST) {
		memset(want + 20, 0, 4);
		memset(want + 32, 0, 8);
	}
}

static void
check_capture(const char *path, unsigned want_packets, unsigned seen[SUBTYPES])
{
	struct capture c;
	const uint8_t *data;
	size_t len;
	unsigned packets = 0, same = 0;

	if (!T_CHECK(capture_open(&c, path)))
		return;
	while (capture_next(&c, &data, &len)) {
		struct wire_msg m;
		struct err e;
		uint8_t out[WIRE_PACKET_MAX], want[WIRE_PACKET_MAX];
		packets++;
		if (wire_get(&m, data, len, &e) != 0 || len > sizeof want) {
			printf("# %s, packet %u: %s\n", path, packets, e.text);
			continue;
		}
		seen[m.subtype]++;
		expected_bytes(&m, data, len, want);
		same += wire_put(&m, out, sizeof out) == len &&
		        memcmp(out, want, len) == 0;
	}
	printf("# %s: %u packets\n", path, packets);
	T_CHECK(packets == want_packets);
	T_CHECK(same == packets);
	free(c.bytes);
}

static void
test_golden(void)
{
	unsigned seen[SUBTYPES] = { 0 };

	check_capture("tests/golden/session.pcap", 1031, seen);
	check_capture("tests/golden/session-join2.pcap", 330, seen);
	check_capture("tests/golden/mserver-get.pcap", 0, seen);
	T_CHECK(seen[WIRE_JOIN] > 0);
	T_CHECK(seen[WIRE_JOIN2] > 0);
	T_CHECK(seen[WIRE_REQ] > 0);
	T_CHECK(seen[WIRE_BLOCK] > 1024);
	T_CHECK(seen[WIRE_LEAVE2] > 0);
}

/* One message of each kind, no field zero. */
static const uint8_t block_data[WIRE_BLOCK_BYTES] = { 1, 2, 3 };
static const struct wire_msg samples[] = {
	{ WIRE_REQUEST, WIRE_JOIN, { 10, 0, 0, 1 }, { .join = { .clientid = 77 } } },
	{ WIRE_REPLY, WIRE_JOIN, { 10, 0, 0, 1 }, { .join = { .blocks = 4096 } } },
	{ WIRE_REQUEST, WIRE_JOIN2, { 10, 0, 0, 1 },
	    { .join2 = { .clientid = 7, .chunk_blocks = 1024, .block_bytes = 1024 } } },
	{ WIRE_REPLY, WIRE_JOIN2, { 10, 0, 0, 1 },
	    { .join2 = { 7, 5, 1024, 1024, UINT64_C(0x1234567890) } } },
	{ WIRE_REQUEST, WIRE_LEAVE, { 10, 0, 0, 1 }, { .leave = { 9, 1234 } } },
	{ WIRE_REQUEST, WIRE_LEAVE2, { 10, 0, 0, 1 },
	    { .leave2 = { 9, 1234,
		  { .run_s = 1,
		      .run_ms = 2,
		      .start_delay_ms = 3,
		      .bytes_written = UINT64_C(0x123456789a),
		      .bytes_covered = UINT64_C(0x523456789a),
		      .requests = 12,
		      .full_rerequests = 13 } } } },
	{ WIRE_REQUEST, WIRE_BLOCK, { 10, 0, 0, 1 },
	    { .block = { 3, 1023, block_data } } },
	{ WIRE_REQUEST, WIRE_REQ, { 10, 0, 0, 1 }, { .req = { 3, 1000, 24 } } },
	{ WIRE_REQUEST, WIRE_PREQ, { 10, 0, 0, 1 },
	    { .preq = { 3, 1, { 0xff, 1, 2 } } } },
};
enum { SAMPLES = sizeof samples / sizeof samples[0] };

/* No packet may be read past its claimed end, nor a short one believed. */
static void
test_truncation(void)
{
	for (size_t i = 0; i < SAMPLES; i++) {
		uint8_t pkt[WIRE_PACKET_MAX + 8], again[WIRE_PACKET_MAX];
		struct wire_msg m;
		struct err e;
		unsigned refused = 0, small = 0;
		size_t len = wire_put(&samples[i], pkt, sizeof pkt);
		T_CHECK(len >= WIRE_HEADER_BYTES + 4u);
		T_CHECK(wire_get(&m, pkt, len, &e) == 0);
		T_CHECK(wire_put(&m, again, sizeof again) == len);
		T_CHECK(memcmp(again, pkt, len) == 0);
		for (size_t n = 0; n < len; n++) {
			uint8_t *cut = malloc(n + (n == 0));
			memcpy(cut, pkt, n);
			refused += wire_get(&m, cut, n, &e) == -1 &&
			           e.kind == ERR_FORMAT;
			small += wire_put(&samples[i], cut, n) == 0;
			free(cut);
		}
		T_CHECK(refused == len);
		T_CHECK(small == len);
		memset(pkt + len, 0xee, 4);
		T_CHECK(wire_get(&m, pkt, len + 4, &e) == 0);
		pkt[8]--;
		T_CHECK(wire_get(&m, pkt, len, &e) == -1);
	}
}

static int
get_patched(const struct wire_msg *m, size_t off, uint32_t value, struct err *e)
{
	uint8_t pkt[WIRE_PACKET_MAX];
	struct wire_msg out;
	size_t len = wire_put(m, pkt, sizeof pkt);
	struct wr w = wr_to(pkt + off, 4);

	wr_le32(&w, value);
	return wire_get(&out, pkt, len, e);
}

static const struct wire_msg *
sample(enum wire_subtype s, enum wire_type t)
{
	for (size_t i = 0; i < SAMPLES; i++)
		if (samples[i].subtype == s && samples[i].type == t)
			return &samples[i];
	return NULL;
}

static void
test_refused(void)
{
	static const struct {
		enum wire_subtype subtype;
		enum wire_type type;
		size_t off;
		uint32_t value;
		enum err_kind kind;
	} bad[] = {
		{ WIRE_JOIN, WIRE_REQUEST, 0, 0, ERR_FORMAT },
		{ WIRE_JOIN, WIRE_REQUEST, 0, 3, ERR_FORMAT },
		{ WIRE_JOIN, WIRE_REQUEST, 4, 0, ERR_FORMAT },
		{ WIRE_JOIN, WIRE_REQUEST, 4, 9, ERR_FORMAT },
		{ WIRE_JOIN, WIRE_REQUEST, 4, 0xffffffff, ERR_FORMAT },
		{ WIRE_LEAVE2, WIRE_REQUEST, 4, WIRE_PROGRESS, ERR_UNSUPPORTED },
		{ WIRE_JOIN, WIRE_REQUEST, 8, 0xffffffff, ERR_FORMAT },
		{ WIRE_JOIN, WIRE_REPLY, 16, 0x80000000, ERR_FORMAT },
		{ WIRE_JOIN2, WIRE_REPLY, 20, 0x80000000, ERR_FORMAT },
		{ WIRE_BLOCK, WIRE_REQUEST, 16, 0x80000000, ERR_FORMAT },
		{ WIRE_BLOCK, WIRE_REQUEST, 20, 1024, ERR_FORMAT },
		{ WIRE_BLOCK, WIRE_REQUEST, 20, 0xffffffff, ERR_FORMAT },
		{ WIRE_REQ, WIRE_REQUEST, 16, 0xffffffff, ERR_FORMAT },
		{ WIRE_REQ, WIRE_REQUEST, 20, 1024, ERR_FORMAT },
		{ WIRE_REQ, WIRE_REQUEST, 24, 0, ERR_FORMAT },
		{ WIRE_REQ, WIRE_REQUEST, 24, 25, ERR_FORMAT },
		{ WIRE_REQ, WIRE_REQUEST, 24, 0xffffffff, ERR_FORMAT },
		{ WIRE_PREQ, WIRE_REQUEST, 16, 0xffffffff, ERR_FORMAT },
	};

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct err e;
		const struct wire_msg *m = sample(bad[i].subtype, bad[i].type);
		T_CHECK(get_patched(m, bad[i].off, bad[i].value, &e) == -1);
		T_CHECK(e.kind == bad[i].kind);
		printf("# %s\n", e.text);
	}
	uint8_t big[WIRE_PACKET_MAX + 1] = { 0 };
	struct wire_msg m;
	struct err e;
	T_CHECK(wire_put(sample(WIRE_JOIN, WIRE_REQUEST), big, sizeof big) == 20);
	T_CHECK(wire_get(&m, big, WIRE_PACKET_MAX, &e) == 0);
	T_CHECK(wire_get(&m, big, WIRE_PACKET_MAX + 1, &e) == -1);
	T_CHECK(get_patched(sample(WIRE_LEAVE2, WIRE_REQUEST), 24, 2, &e) == 0);
	m.subtype = WIRE_PROGRESS;
	T_CHECK(wire_put(&m, big, sizeof big) == 0);
}

static void
test_block_header(void)
{
	const struct wire_msg *m = sample(WIRE_BLOCK, WIRE_REQUEST);
	uint8_t hdr[WIRE_BLOCK_HEADER_BYTES], pkt[WIRE_PACKET_MAX];

	T_CHECK(wire_put(m, pkt, sizeof pkt) == WIRE_BLOCK_PACKET_BYTES);
	wire_put_block_header(hdr, m->srcip, m->u.block.chunk, m->u.block.block);
	T_CHECK(memcmp(hdr, pkt, sizeof hdr) == 0);
}

int
main(void)
{
	test_golden();
	test_truncation();
	test_refused();
	test_block_header();
	return t_done();
}
