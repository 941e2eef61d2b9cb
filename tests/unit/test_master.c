/* The messages of the master server: those of a real one (golden/mserver-get.pcap), to structures and
 * back to the byte; every truncation; names that are none. */
#include "common/wire/master.h"

#include <stdio.h>
#include <string.h>

#include "tests/t.h"

static struct err e;
static uint8_t file[65536];
static size_t file_bytes;

enum { PCAP_HEADER = 24, RECORD_HEADER = 16, ETHERNET = 14, SEEN_MAX = 8 };

/* The TCP payloads of the capture, in its order. */
static struct payload {
	const uint8_t *at;
	size_t len;
} seen[SEEN_MAX + 8];
static size_t nseen;

static size_t
le32(const uint8_t *p)
{
	return (size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
}

static void
read_capture(void)
{
	FILE *f = fopen("tests/golden/mserver-get.pcap", "rb");

	T_CHECK(f != NULL);
	if (f == NULL)
		return;
	file_bytes = fread(file, 1, sizeof file, f);
	fclose(f);
	for (size_t at = PCAP_HEADER; at + RECORD_HEADER < file_bytes;) {
		size_t len = le32(file + at + 8);
		const uint8_t *ip = file + at + RECORD_HEADER + ETHERNET;
		const uint8_t *tcp = ip + (ip[0] & 15) * 4;
		const uint8_t *data = tcp + (tcp[12] >> 4) * 4;
		size_t total = (size_t)ip[2] << 8 | ip[3];
		size_t n = total - (size_t)(data - ip);
		if (n > 0 && nseen < sizeof seen / sizeof seen[0])
			seen[nseen++] = (struct payload){ data, n };
		at += RECORD_HEADER + len;
	}
}

static bool
comes_back(const struct payload *p)
{
	union {
		struct master_get get;
		struct master_get_reply get_reply;
		struct master_put put;
		struct master_put_reply put_reply;
	} m;
	uint8_t out[MASTER_PUT_REPLY_BYTES];
	enum master_type type;
	size_t bytes;

	if (master_message_bytes(p->at, &type, &bytes, &e) != 0 || bytes != p->len)
		return false;
	switch (type) {
	case MASTER_GET:
		if (master_get_read(&m.get, p->at, p->len, &e) != 0)
			return false;
		master_get_write(&m.get, out);
		break;
	case MASTER_GET_REPLY:
		if (master_get_reply_read(&m.get_reply, p->at, p->len, &e) != 0)
			return false;
		master_get_reply_write(&m.get_reply, out);
		break;
	case MASTER_PUT:
		if (master_put_read(&m.put, p->at, p->len, &e) != 0)
			return false;
		master_put_write(&m.put, out);
		break;
	default:
		if (master_put_reply_read(&m.put_reply, p->at, p->len, &e) != 0)
			return false;
		master_put_reply_write(&m.put_reply, out);
	}
	return memcmp(out, p->at, bytes) == 0;
}

static void
test_the_capture_comes_back_to_the_byte(void)
{
	T_CHECK(nseen == 10);
	for (size_t i = 0; i < nseen; i++)
		T_CHECK(comes_back(&seen[i]));
}

static void
test_what_the_capture_says(void)
{
	struct master_get get;
	struct master_get_reply reply;
	struct master_put put;
	struct master_put_reply taken;

	T_CHECK(master_get_read(&get, seen[0].at, seen[0].len, &e) == 0);
	T_CHECK(get.status_only);
	T_CHECK(get.methods == MASTER_ANY);
	T_CHECK(strcmp(get.name, "/tmp/peer/work/images/fat12") == 0);
	T_CHECK(master_get_reply_read(&reply, seen[3].at, seen[3].len, &e) == 0);
	T_CHECK(reply.method == MASTER_MULTICAST);
	T_CHECK(reply.running);
	T_CHECK(reply.error == MASTER_OK);
	T_CHECK(memcmp(reply.server, "\x0a\x4d\0\1", 4) == 0);
	T_CHECK(memcmp(reply.addr, "\xef\xc0\1\2", 4) == 0);
	T_CHECK(reply.port == 0xa5db);
	T_CHECK(reply.signature.type == MASTER_SIGNATURE_MTIME);
	T_CHECK(reply.bytes == 1 << 20);
	T_CHECK(master_get_reply_read(&reply, seen[5].at, seen[5].len, &e) == 0);
	T_CHECK(reply.error == MASTER_NO_IMAGE);
	T_CHECK(master_put_read(&put, seen[6].at, seen[6].len, &e) == 0);
	T_CHECK(put.bytes == 1 << 20);
	T_CHECK(put.timeout_s == 12);
	T_CHECK(master_put_reply_read(&taken, seen[7].at, seen[7].len, &e) == 0);
	T_CHECK(taken.port == 0xc6cf);
	T_CHECK(taken.bytes_max == 20000000000ull);
}

static void
test_every_truncation_is_refused(void)
{
	struct master_get get;

	for (size_t n = 0; n < seen[0].len; n++)
		T_CHECK(master_get_read(&get, seen[0].at, n, &e) != 0);
	T_CHECK(master_get_read(&get, seen[1].at, seen[1].len, &e) != 0);
}

/* The original server copies as many bytes as a name claims to have. */
static void
test_names(void)
{
	uint8_t msg[MASTER_GET_BYTES];
	struct master_get get;

	memcpy(msg, seen[0].at, sizeof msg);
	msg[14] = msg[15] = 0xff;
	T_CHECK(master_get_read(&get, msg, sizeof msg, &e) != 0);
	T_CHECK(strstr(e.text, "65535 bytes") != NULL);
	msg[14] = 0;
	msg[15] = 0;
	T_CHECK(master_get_read(&get, msg, sizeof msg, &e) != 0);
	msg[14] = 1;
	T_CHECK(master_get_read(&get, msg, sizeof msg, &e) != 0); /* zeros in it */
	memset(msg + 16, 'x', MASTER_NAME_MAX);
	T_CHECK(master_get_read(&get, msg, sizeof msg, &e) == 0);
	T_CHECK(strlen(get.name) == MASTER_NAME_MAX);
	msg[20] = '\n';
	T_CHECK(master_get_read(&get, msg, sizeof msg, &e) != 0);
}

static void
test_the_word_about_an_upload(void)
{
	struct master_verdict no = { false, "chunk 3: the digest is wrong" }, back;
	uint8_t out[MASTER_VERDICT_BYTES];

	master_verdict_write(&no, out);
	T_CHECK(master_verdict_read(&back, out, sizeof out, &e) == 0);
	T_CHECK(!back.taken);
	T_CHECK(strcmp(back.reason, no.reason) == 0);
	no.taken = true;
	master_verdict_write(&no, out);
	T_CHECK(master_verdict_read(&back, out, sizeof out, &e) == 0);
	T_CHECK(back.taken);
	for (size_t n = 0; n < sizeof out; n++)
		T_CHECK(master_verdict_read(&back, out, n, &e) != 0);
	memset(out + 5, 'x', sizeof out - 5);
	T_CHECK(master_verdict_read(&back, out, sizeof out, &e) == 0);
	T_CHECK(strlen(back.reason) == sizeof back.reason - 1);
}

int
main(void)
{
	read_capture();
	test_the_capture_comes_back_to_the_byte();
	test_what_the_capture_says();
	test_every_truncation_is_refused();
	test_names();
	test_the_word_about_an_upload();
	for (uint16_t i = 0; i < 20; i++)
		T_CHECK(master_error_text(i)[0] != '\0');
	return t_done();
}
