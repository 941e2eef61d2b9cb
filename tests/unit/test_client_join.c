/* The client's engine: joining, and whom it believes. */
#include "common/base/rd.h"
#include "tests/t.h"
#include "tests/unit/client_talk.h"

static void
test_join(void)
{
	struct client_config cfg = config(4);
	struct wire_msg m;

	cfg.start_delay_us = 700;
	struct client *c = client_new(&cfg, 0);
	T_CHECK(is_silent(c, 0));
	T_CHECK(client_deadline(c, 0) == 700);
	/* What others are told does not shorten the wait, nor spare the JOIN. */
	join_reply(c, 300, 3 * 1024);
	T_CHECK(client_state(c) == CLIENT_JOINING);
	T_CHECK(client_deadline(c, 300) == 700);
	T_CHECK(says(c, 700, &m));
	T_CHECK(m.subtype == WIRE_JOIN);
	T_CHECK(m.u.join.clientid == 77);
	T_CHECK(is_silent(c, 700));
	T_CHECK(client_deadline(c, 700) == 700 + 500 * MS);
	T_CHECK(says(c, 700 + 500 * MS, &m));
	T_CHECK(m.subtype == WIRE_JOIN);
	T_CHECK(client_chunks(c) == 0);
	T_CHECK(client_image_bytes(c) == 0);
	join_reply(c, 600 * MS, 3 * 1024);
	T_CHECK(client_state(c) == CLIENT_LOADING);
	T_CHECK(client_chunks(c) == 3);
	T_CHECK(client_image_bytes(c) == 3 << 20);
	/* The first requests do not wait for a tick. */
	T_CHECK(asks_whole(c, 600 * MS, 0, 1024));
	T_CHECK(asks_whole(c, 600 * MS, 1, 1024));
	T_CHECK(is_silent(c, 600 * MS));
	T_CHECK(client_counters(c).wire.join_attempts == 2);
	T_CHECK(client_counters(c).wire.requests == 2);
	client_free(c);
}

static void
check_refused(bool any_file, uint32_t id, uint32_t nblocks, uint64_t bytes,
    uint32_t block_bytes, enum client_state want)
{
	struct client_config cfg = config(4);
	struct wire_msg m;

	cfg.any_file = any_file;
	struct client *c = client_new(&cfg, 0);
	T_CHECK(says(c, 0, &m));
	T_CHECK(m.subtype == (any_file ? WIRE_JOIN2 : WIRE_JOIN));
	/* One answer of no use may be anybody's; it is believed when it is repeated. */
	for (int i = 0; i < 2; i++) {
		if (any_file)
			join2_reply(
			    c, 1 + i * 500 * MS, id, nblocks, bytes, block_bytes);
		else
			join_reply(c, 1 + i * 500 * MS, nblocks);
		T_CHECK(i == 1 || client_state(c) != CLIENT_REFUSED);
	}
	T_CHECK(client_state(c) == want);
	T_CHECK((want == CLIENT_REFUSED) == (client_error(c)[0] != '\0'));
	printf("# %s\n", client_error(c));
	client_free(c);
}

static void
test_replies(void)
{
	check_refused(false, 0, 0, 0, 0, CLIENT_REFUSED);
	check_refused(false, 0, 1023, 0, 0, CLIENT_REFUSED);
	check_refused(false, 0, 2048, 0, 0, CLIENT_LOADING);
	check_refused(true, 77, 300, 307200, 1024, CLIENT_LOADING);
	check_refused(true, 78, 300, 307200, 1024, CLIENT_JOINING);
	/* The number of blocks is not looked at: the original server says 0. */
	check_refused(true, 77, 0, 307200, 1024, CLIENT_LOADING);
	check_refused(true, 77, 300, 307201, 1024, CLIENT_LOADING);
	check_refused(true, 77, 0, 0, 1024, CLIENT_REFUSED);
	check_refused(true, 77, 300, 307200, 8192, CLIENT_REFUSED);
	check_refused(true, 77, 300, UINT64_MAX, 1024, CLIENT_REFUSED);
}

/* A file is told from an image, when its server says so or its length does. */
static void
test_file_is_no_image(void)
{
	struct client_config cfg = config(4);
	struct wire_msg m;

	for (int i = 0; i < 2; i++) {
		struct client *c = client_new(&cfg, 0);
		T_CHECK(says(c, 0, &m));
		for (int k = 0; k < 2; k++)
			if (i == 0)
				join2_reply(c, 1 + k * 500 * MS, 77, 2048, 2 << 20, 1024);
			else
				join_reply(c, 1 + k * 500 * MS, 300);
		T_CHECK(client_state(c) == CLIENT_REFUSED);
		T_CHECK(strncmp(client_error(c), "10.0.0.1 serves a file, not an image",
			    36) == 0);
		T_CHECK(strstr(client_error(c), ": use -N") != NULL);
		client_free(c);
	}
}

/* The original server's answer, as it was captured: it says that there are 0 blocks. */
static void
test_original_file_server(void)
{
	static uint8_t pcap[1 << 20];
	static const uint8_t original[4] = { 10, 77, 0, 1 };
	struct client_config cfg = config(4);
	struct client_store st;
	struct wire_msg m;
	struct err e;
	size_t at = 24;

	FILE *f = fopen("tests/golden/session-join2.pcap", "rb");
	T_CHECK(f != NULL);
	size_t len = f != NULL ? fread(pcap, 1, sizeof pcap, f) : 0;
	if (f != NULL)
		fclose(f);
	cfg.any_file = true;
	struct client *c = NULL;
	/* Ethernet, IPv4 without options, UDP. */
	for (uint32_t n; at + 16 <= len; at += 16 + n) {
		struct rd length = rd_from(pcap + at + 8, 4);
		n = rd_le32(&length);
		const uint8_t *ip = pcap + at + 16 + 14, *pkt = ip + 28;
		if (n < 42 || at + 16 + n > len || pcap[at + 16 + 12] != 8 ||
		    pcap[at + 16 + 13] != 0 || ip[9] != 17 ||
		    wire_get(&m, pkt, n - 42, &e) != 0)
			continue;
		if (m.type == WIRE_REPLY && m.subtype == WIRE_JOIN2) {
			T_CHECK(c == NULL);
			T_CHECK(m.u.join2.blocks == 0);
			cfg.clientid = m.u.join2.clientid;
			c = client_new(&cfg, 0);
			T_CHECK(says(c, 0, &m));
		}
		if (c != NULL)
			client_input(c, 1, pkt, n - 42, original, &st);
	}
	T_CHECK(c != NULL);
	T_CHECK(client_image_bytes(c) == 333333);
	uint32_t chunk, buf, bytes;
	T_CHECK(client_take(c, &chunk, &buf, &bytes));
	T_CHECK(bytes == 333333);
	T_CHECK(client_state(c) == CLIENT_COMPLETE);
	client_free(c);
}

static void
test_silence(void)
{
	struct client_config cfg = config(4);
	struct wire_msg m;

	cfg.silence_us = 2000 * MS;
	struct client *c = client_new(&cfg, 0);
	T_CHECK(says(c, 0, &m));
	T_CHECK(says(c, 1000 * MS, &m));
	join_reply(c, 1900 * MS, 1024);
	/* It answers somebody else, and may never have heard ours. */
	T_CHECK(client_deadline(c, 1900 * MS) == 1900 * MS);
	T_CHECK(says(c, 1900 * MS, &m));
	T_CHECK(m.subtype == WIRE_JOIN);
	T_CHECK(asks_whole(c, 1900 * MS, 0, 1024));
	heard_request(c, 3800 * MS, 0);
	T_CHECK(client_deadline(c, 3899 * MS) <= 3900 * MS);
	says(c, 3899 * MS, &m);
	T_CHECK(client_state(c) == CLIENT_LOADING);
	T_CHECK(!says(c, 3900 * MS, &m));
	T_CHECK(client_state(c) == CLIENT_GAVE_UP);
	T_CHECK(client_error(c)[0] != '\0');
	T_CHECK(client_deadline(c, 3900 * MS) == CLIENT_NEVER);
	client_free(c);
}

/* Only the named server's word counts; nonsense is dropped. */
static void
test_trust(void)
{
	struct client_config cfg = config(4);
	struct client_store st;
	struct wire_msg m;

	cfg.has_server = true;
	memcpy(cfg.server, server_ip, 4);
	struct client *c = client_new(&cfg, 0);
	T_CHECK(says(c, 0, &m));
	m = (struct wire_msg){
		.type = WIRE_REPLY, .subtype = WIRE_JOIN, .u.join.blocks = 1024
	};
	T_CHECK(!input(c, 0, &m, other, &st));
	T_CHECK(client_state(c) == CLIENT_JOINING);
	join_reply(c, 0, 1024);
	T_CHECK(client_state(c) == CLIENT_LOADING);
	T_CHECK(!block_from(c, 1, 0, 0, other, &st));
	T_CHECK(block_from(c, 1, 0, 0, server_ip, &st));
	T_CHECK(!block_from(c, 1, 1, 0, server_ip, &st));
	uint8_t pkt[WIRE_PACKET_MAX];
	m = (struct wire_msg){ .type = WIRE_REQUEST,
		.subtype = WIRE_BLOCK,
		.srcip = { 10, 0, 0, 1 },
		.u.block = { 0, 1, block_data } };
	size_t len = wire_put(&m, pkt, sizeof pkt);
	T_CHECK(!client_input(c, 1, pkt, len, other, &st)); /* a false name */
	T_CHECK(!client_input(c, 1, pkt, len - 1, server_ip, &st));
	T_CHECK(client_input(c, 1, pkt, len, server_ip, &st));
	T_CHECK(st.block == 1);
	client_free(c);
}

/* When a JOIN is said within a second. */
static unsigned
joins(bool ext, unsigned at_ms[8])
{
	struct client_config cfg = config(8);
	struct wire_msg m;
	unsigned n = 0;

	cfg.ext = ext;
	struct client *c = client_new(&cfg, 0);
	for (unsigned ms = 0; ms < 1000 && n < 8; ms++)
		if (says(c, ms * (uint64_t)MS, &m) && m.subtype == WIRE_JOIN)
			at_ms[n++] = ms;
	client_free(c);
	return n;
}

/* Every half second, as the base protocol has it; with the extension sooner at first. */
static void
test_join_repeats(void)
{
	static const unsigned soon[] = { 0, 32, 95, 220, 470, 970 };
	unsigned at[8];

	T_CHECK(joins(false, at) == 2);
	T_CHECK(at[0] == 0);
	T_CHECK(at[1] == 500);
	T_CHECK(joins(true, at) == 6);
	T_CHECK(memcmp(at, soon, sizeof soon) == 0);
}

int
main(void)
{
	test_join_repeats();
	test_join();
	test_replies();
	test_file_is_no_image();
	test_original_file_server();
	test_silence();
	test_trust();
	return t_done();
}
