/* Packets of several blocks and chunks without their empty end: what a client makes of
 * them. */
#include <string.h>

#include "common/net/blockmap.h"
#include "common/net/wirext.h"
#include "frisbee/client.h"
#include "tests/t.h"

enum { MIB = 1 << 20, CHUNKS = 4, SESSION = 9, MS = 1000 };

static const uint8_t server_ip[4] = { 10, 0, 0, 1 };

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

int
main(void)
{
	test_store();
	test_into();
	test_parity();
	test_fits();
	return t_done();
}
