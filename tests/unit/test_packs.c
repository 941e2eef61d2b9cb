/* Packets of several blocks and chunks without their empty end: when the server sends
 * them, what a client makes of them, and what the reader finds empty. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "frisbee/client.h"
#include "frisbeed/reader.h"
#include "frisbeed/server.h"
#include "tests/t.h"
#include "tests/unit/memdisk.h"

enum { MIB = 1 << 20, CHUNKS = 4, CONTENT = 1001, SESSION = 9, MS = 1000 };

static const uint8_t server_ip[4] = { 10, 0, 0, 1 };

/* --- the server --- */

static struct server *
make_server(uint32_t pack_blocks)
{
	struct server_config cfg = { .image_bytes = CHUNKS * MIB,
		.whole_chunks = true,
		.run_blocks = 32,
		.ahead = 8,
		.burst = 16,
		.gap_us = 2000,
		.ext = { .on = true,
		    .port = 5008,
		    .session = SESSION,
		    .pack_blocks = pack_blocks } };

	return server_new(&cfg, 0);
}

static void
join(struct server *s, uint64_t now, uint8_t host, bool offer)
{
	struct wire_msg m = { .type = WIRE_REQUEST,
		.subtype = WIRE_JOIN,
		.srcip = { 10, 0, 0, host },
		.u.join.clientid = host };
	uint8_t pkt[WIRE_PACKET_MAX];
	size_t n = wire_put(&m, pkt, sizeof pkt);

	if (offer)
		n = wirext_put_offer(pkt, n, sizeof pkt, 0);
	server_input(s, now, pkt, n, m.srcip);
}

static void
leave(struct server *s, uint64_t now, uint8_t host)
{
	struct wire_msg m = { .type = WIRE_REQUEST,
		.subtype = WIRE_LEAVE,
		.srcip = { 10, 0, 0, host },
		.u.leave.clientid = host };
	uint8_t pkt[WIRE_PACKET_MAX];

	server_input(s, now, pkt, wire_put(&m, pkt, sizeof pkt), m.srcip);
}

static void
say_ext(struct server *s, uint64_t now, struct wirext_msg m, uint8_t host)
{
	uint8_t pkt[WIREXT_PACKET_MAX];

	m.session = SESSION;
	memcpy(m.srcip, (uint8_t[]){ 10, 0, 0, host }, 4);
	server_input(s, now, pkt, wirext_put(&m, pkt, sizeof pkt), m.srcip);
}

static void
fits(struct server *s, uint64_t now, uint8_t host, uint32_t number, uint32_t blocks)
{
	struct wirext_msg m = { .kind = WIREXT_FITS,
		.u.fits = { host, number, blocks } };

	say_ext(s, now, m, host);
}

static void
go(struct server *s, uint64_t now, uint8_t host)
{
	struct wirext_msg m = { .kind = WIREXT_GO };

	m.u.go.clientid = host;
	m.u.go.blocks = 60000;
	say_ext(s, now, m, host);
}

/* What went out in a stretch of time. */
struct seen {
	uint32_t plain, packs, packed, longest, tries, asked, number, highest;
	bool wrong;
};

static void
look_at_packet(struct seen *seen, const struct server_out *out)
{
	struct wirext_msg m;
	struct err e;

	if (!wirext_is(out->pkt, out->len) ||
	    wirext_get(&m, out->pkt, out->len, &e) != 0 || m.kind != WIREXT_TRY)
		return;
	seen->tries++;
	seen->asked = m.u.trial.n;
	seen->number = m.u.trial.number;
	seen->wrong |= out->len != WIREXT_PACK_HEADER_BYTES +
	                               m.u.trial.blocks * (size_t)WIRE_BLOCK_BYTES;
}

static void
look(struct seen *seen, const struct server_out *out)
{
	if (out->kind == SERVER_OUT_PACKET) {
		look_at_packet(seen, out);
		return;
	}
	uint32_t last = out->block + out->count - 1;
	seen->highest = seen->highest < last ? last : seen->highest;
	if (out->kind == SERVER_OUT_BLOCK) {
		seen->plain++;
		return;
	}
	seen->packs++;
	seen->packed += out->count;
	seen->longest = seen->longest < out->count ? out->count : seen->longest;
	seen->wrong |= out->content != CONTENT || last >= CONTENT;
}

static void
read_runs(struct server *s)
{
	struct server_run run;

	while (server_read_next(s, &run)) {
		server_content(s, run.chunk, CONTENT);
		server_read_done(s, run.buf);
	}
}

static struct seen
run(struct server *s, uint64_t *now, uint64_t us)
{
	struct seen seen = { 0 };
	struct server_out out;

	for (uint64_t end = *now + us; *now < end; *now += MS)
		for (read_runs(s); server_output(s, *now, &out); read_runs(s))
			look(&seen, &out);
	return seen;
}

static void
test_agreeing(void)
{
	struct server *s = make_server(8);
	uint64_t now = 1000 * MS;

	join(s, now, 2, true);
	struct seen a = run(s, &now, 40 * MS);
	/* Nothing is known yet: blocks; one round of four lengths. */
	T_CHECK(a.plain > 0 && a.packs == 0 && a.tries == 4 && a.asked == 1);
	fits(s, now, 2, a.number, 8);
	a = run(s, &now, 40 * MS);
	T_CHECK(a.plain == 0 && a.packs > 0 && a.longest == 8 && !a.wrong);
	T_CHECK(a.tries == 0);
	/* Another one comes, and can take less. */
	join(s, now, 3, true);
	a = run(s, &now, 40 * MS);
	T_CHECK(a.packs == 0 && a.plain > 0 && a.tries == 4 && a.asked == 1);
	fits(s, now, 3, a.number, 2);
	a = run(s, &now, 40 * MS);
	T_CHECK(a.plain == 0 && a.longest == 2 && !a.wrong);
	/* What is said without a TRY only makes it less. */
	fits(s, now, 3, 0, 8);
	T_CHECK(run(s, &now, 20 * MS).longest == 2);
	fits(s, now, 3, 0, 1);
	T_CHECK(run(s, &now, 20 * MS).longest == 1);
	leave(s, now, 3);
	T_CHECK(run(s, &now, 20 * MS).longest == 8);
	/* It joins again: perhaps it does not hear the second port. */
	join(s, now, 2, true);
	a = run(s, &now, 40 * MS);
	T_CHECK(a.packs == 0 && a.plain > 0 && a.tries == 4);
	fits(s, now, 2, a.number + 1, 8); /* nobody was asked that */
	T_CHECK(run(s, &now, 20 * MS).packs == 0);
	fits(s, now, 2, a.number, 8);
	T_CHECK(run(s, &now, 20 * MS).longest == 8);
	server_pack_limit(s, 1);
	T_CHECK(run(s, &now, 20 * MS).longest == 1);
	T_CHECK(server_stats(s)->bad_packets == 0);
	server_free(s);
}

/* An old client: everything goes out in its packets, the empty end, too. */
static void
test_old(void)
{
	struct server *s = make_server(8);
	uint64_t now = 1000 * MS;

	join(s, now, 2, true);
	struct seen a = run(s, &now, 40 * MS);
	fits(s, now, 2, a.number, 8);
	T_CHECK(run(s, &now, 20 * MS).packs > 0);
	join(s, now, 3, false);
	go(s, now, 2);
	a = run(s, &now, 1000 * MS);
	T_CHECK(a.packs == 0 && a.plain > 1024 && a.highest == 1023);
	leave(s, now, 3);
	server_free(s);
}

/* What is asked for by the base protocol comes by it, and whole: one whose second port
 * is closed may have asked. */
static void
test_requests(void)
{
	struct server *s = make_server(8);
	struct wire_msg m = { .type = WIRE_REQUEST,
		.subtype = WIRE_REQ,
		.srcip = { 10, 0, 0, 2 },
		.u.req = { 3, 0, 1024 } };
	uint8_t pkt[WIRE_PACKET_MAX];
	uint64_t now = 1000 * MS;

	join(s, now, 2, true);
	struct seen a = run(s, &now, 40 * MS);
	fits(s, now, 2, a.number, 8);
	go(s, now, 2);
	T_CHECK(!run(s, &now, 1000 * MS).wrong);
	T_CHECK(server_stats(s)->blocks_left_out >= 2 * (1024 - CONTENT));
	T_CHECK(server_stats(s)->blocks_left_out <= 4 * (1024 - CONTENT));
	server_input(s, now, pkt, wire_put(&m, pkt, sizeof pkt), m.srcip);
	a = run(s, &now, 1000 * MS);
	T_CHECK(a.plain == 1024 && a.packs == 0 && a.highest == 1023);
	server_free(s);
}

/* Who never answers is asked ever more rarely. */
static void
test_silent(void)
{
	struct server *s = make_server(5);
	uint64_t now = 1000 * MS;

	join(s, now, 2, true);
	struct seen a = run(s, &now, 1000 * MS);
	T_CHECK(a.tries >= 3 * 3 && a.tries <= 5 * 3 && a.packs == 0);
	a = run(s, &now, 60000 * MS);
	T_CHECK(a.tries >= 5 * 3 && a.tries <= 12 * 3);
	server_free(s);
}

/* --- the client --- */

static uint8_t data[WIREXT_PACK_BLOCKS * WIRE_BLOCK_BYTES];

static bool
hears(struct client *c, uint64_t now, struct wirext_msg m, struct client_store *st)
{
	static uint8_t pkt[WIREXT_PACKET_MAX];

	m.session = SESSION;
	memcpy(m.srcip, server_ip, 4);
	return client_input(
	    c, now, pkt, wirext_put(&m, pkt, sizeof pkt), server_ip, st);
}

static bool
pack(struct client *c, uint32_t chunk, uint32_t first, uint32_t count, uint32_t content,
    struct client_store *st)
{
	struct wirext_msg m = { .kind = WIREXT_PACK,
		.u.pack = { chunk, first, count, content, data } };

	return hears(c, 50 * MS, m, st);
}

static struct client *
make_client(bool parity)
{
	struct client_config cfg = { .clientid = 7,
		.srcip = { 10, 0, 0, 2 },
		.buffers = 8,
		.readahead = 2,
		.in_progress = 8,
		.tick_us = 30 * MS,
		.idle_ticks = 3,
		.join_us = 500 * MS,
		.ext = true,
		.parity = parity };
	struct wire_msg m = { .type = WIRE_REPLY,
		.subtype = WIRE_JOIN,
		.u.join.blocks = CHUNKS * WIRE_CHUNK_BLOCKS };
	struct wirext_answer a = { .flags = WIREXT_CAN_PARITY,
		.port = 5008,
		.session = SESSION,
		.clients = 1 };
	struct client *c = client_new(&cfg, 0);
	struct client_store st;
	uint8_t pkt[WIRE_PACKET_MAX];

	client_output(c, 0, pkt);
	memcpy(m.srcip, server_ip, 4);
	size_t n = wire_put(&m, pkt, sizeof pkt);
	n = wirext_put_answer(pkt, n, sizeof pkt, &a);
	client_input(c, 1, pkt, n, server_ip, &st);
	return c;
}

static void
test_store(void)
{
	struct client *c = make_client(false);
	struct client_store st;
	uint32_t chunk, buf, bytes;

	T_CHECK(pack(c, 1, 8, 8, 1024, &st) && st.which == 0xff && st.zeros == NULL);
	T_CHECK(st.block == 8 && st.chunk == 1 && st.data != NULL);
	/* Some are here. */
	T_CHECK(pack(c, 1, 4, 8, 1024, &st) && st.which == 0x0f);
	T_CHECK(!pack(c, 1, 10, 2, 1024, &st));
	T_CHECK(client_stats(c)->dup_in_progress == 6);
	/* The end: known once, and only what is not here. */
	T_CHECK(pack(c, 1, 12, 8, 20, &st) && st.which == 0xf0);
	T_CHECK(st.zeros != NULL && blockmap_count(st.zeros) == 1004 &&
		blockmap_next(st.zeros, 0) == 20);
	T_CHECK(!pack(c, 1, 12, 8, 20, &st));
	T_CHECK(client_blocks_left_out(c) == 1004);
	T_CHECK(!client_take(c, &chunk, &buf, &bytes));
	T_CHECK(pack(c, 1, 0, 5, 20, &st) && st.which == 0x0f && st.zeros == NULL);
	T_CHECK(client_take(c, &chunk, &buf, &bytes) && chunk == 1 && bytes == MIB);
	T_CHECK(!pack(c, 1, 0, 5, 20, &st));
	/* Not of this image. */
	T_CHECK(!pack(c, CHUNKS, 0, 5, 20, &st));
	client_free(c);
}

static void
test_into(void)
{
	static uint8_t chunk[MIB];
	struct blockmap zeros = blockmap_range(1020, 4);
	struct client_store st = {
		.block = 3, .which = 0x05, .data = data, .zeros = &zeros
	};

	memset(chunk, 0xee, sizeof chunk);
	for (size_t i = 0; i < sizeof data; i++)
		data[i] = (uint8_t)(i / WIRE_BLOCK_BYTES + 1);
	client_store_into(&st, chunk);
	const struct {
		uint32_t block;
		uint8_t value;
	} want[] = { { 2, 0xee }, { 3, 1 }, { 4, 0xee }, { 5, 3 }, { 6, 0xee },
		{ 1019, 0xee }, { 1020, 0 }, { 1023, 0 } };
	for (unsigned i = 0; i < sizeof want / sizeof want[0]; i++) {
		const uint8_t *b = chunk + want[i].block * WIRE_BLOCK_BYTES;
		T_CHECK(b[0] == want[i].value && b[1023] == want[i].value);
	}
}

/* Parity tells of the end, too; it lies where a block was missing, until then. */
static void
test_parity(void)
{
	struct client *c = make_client(true);
	struct wirext_msg m = { .kind = WIREXT_PARITY };
	struct client_store st;
	uint32_t chunk, buf, bytes;

	m.u.parity.chunk = 2;
	m.u.parity.group = 0;
	m.u.parity.data = data;
	for (uint32_t b = 0; b < 8; b++)
		if (b != 4)
			T_CHECK(pack(c, 2, b, 1, 1024, &st));
	T_CHECK(hears(c, 51 * MS, m, &st) && st.which == 1 && st.block == 8);
	T_CHECK(st.zeros == NULL);
	m.u.parity.index = 1;
	m.u.parity.group = 4;
	m.u.parity.content = 8;
	/* 8 is among the empty ones: its parity is of no use any more. */
	T_CHECK(hears(c, 52 * MS, m, &st) && st.which == 1 && st.block == 4);
	T_CHECK(st.zeros != NULL && blockmap_count(st.zeros) == 1016);
	T_CHECK(client_take(c, &chunk, &buf, &bytes) && chunk == 2);
	const uint8_t *at = client_parity(c, buf);
	T_CHECK(at != NULL && at[4] == 2 && at[8] == 0);
	client_free(c);
}

/* The next message of this kind within so long. */
static bool
says(struct client *c, uint64_t *now, uint64_t us, struct wirext_msg *m)
{
	uint8_t pkt[WIRE_PACKET_MAX];
	struct err e;
	size_t n;

	for (uint64_t end = *now + us; *now < end; *now += MS)
		while ((n = client_output(c, *now, pkt)) > 0)
			if (wirext_is(pkt, n) && wirext_get(m, pkt, n, &e) == 0 &&
			    m->kind == WIREXT_FITS)
				return true;
	return false;
}

static void
test_fits(void)
{
	struct client *c = make_client(false);
	struct wirext_msg m = { .kind = WIREXT_TRY }, said;
	struct client_store st;
	uint64_t now = 10 * MS;

	m.u.trial.number = 5;
	m.u.trial.blocks = 8;
	m.u.trial.n = 1;
	m.u.trial.id[0] = 8; /* another one */
	hears(c, now, m, &st);
	T_CHECK(!says(c, &now, 100 * MS, &said));
	m.u.trial.id[m.u.trial.n++] = 7;
	m.u.trial.blocks = 4;
	hears(c, now, m, &st);
	m.u.trial.blocks = 1;
	hears(c, now, m, &st);
	T_CHECK(says(c, &now, 20 * MS, &said) && said.u.fits.blocks == 4 &&
		said.u.fits.number == 5 && said.u.fits.clientid == 7);
	hears(c, now, m, &st); /* twice on its way */
	T_CHECK(!says(c, &now, 20 * MS, &said));
	/* Such packets come, and then nothing does. */
	T_CHECK(pack(c, 0, 0, 4, 1024, &st));
	T_CHECK(says(c, &now, 1500 * MS, &said) && said.u.fits.blocks == 1 &&
		said.u.fits.number == 0);
	client_free(c);
}

/* --- what is empty --- */

static uint32_t
content_of(struct disk *d, struct server_run run)
{
	struct mailbox *box;
	struct reader *r;
	struct err e;
	uint32_t buf, chunk, blocks = 0;

	T_CHECK(mailbox_new(&box, 64, &e) == 0 &&
		reader_new(&r, d, 4, 1024, true, box, &e) == 0);
	reader_ask(r, &run);
	struct pollfd fd = { .fd = mailbox_fd(box), .events = POLLIN };
	while (!mailbox_take(box, &buf))
		poll(&fd, 1, 1000);
	T_CHECK(buf == run.buf && reader_content(r, buf, &chunk, &blocks) &&
		chunk == run.chunk);
	reader_free(r);
	mailbox_free(box);
	return blocks;
}

static void
test_reader(void)
{
	static uint8_t image[2 * MIB];
	struct mem m = { .b = image, .len = sizeof image, .bad = SIZE_MAX };
	struct server_run first = { .buf = 1, .chunk = 1, .first = 0, .count = 32 };
	struct server_run whole = { .buf = 0, .chunk = 1, .first = 0, .count = 1024 };
	struct server_run last = { .buf = 2, .chunk = 1, .first = 1000, .count = 24 };
	const size_t at[] = { 0, 1023, 1024, 40 * 1024 + 5, 999 * 1024, 1000 * 1024,
		1008 * 1024 - 1, 1008 * 1024, MIB - 1 };
	struct disk *d = mem_disk(&m, DISK_FILE, 512);

	T_CHECK(d != NULL && content_of(d, first) == 1 && content_of(d, last) == 1);
	for (unsigned i = 0; i < sizeof at / sizeof at[0]; i++) {
		uint32_t want = (uint32_t)(at[i] / 1024 + 1);
		image[MIB + at[i]] = 1;
		T_CHECK(content_of(d, first) == want);
		T_CHECK(content_of(d, whole) == want);
		T_CHECK(content_of(d, last) == want);
		image[MIB + at[i]] = 0;
	}
	struct err e;
	disk_close(d, &e);
}

int
main(void)
{
	test_agreeing();
	test_old();
	test_requests();
	test_silent();
	test_store();
	test_into();
	test_parity();
	test_fits();
	test_reader();
	return t_done();
}
