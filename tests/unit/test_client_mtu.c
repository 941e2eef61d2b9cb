/* Packets of several blocks and chunks without their empty end: what a client makes of
 * them. */
#include "common/wire/blockmap.h"
#include "tests/t.h"
#include "tests/unit/client_ext_talk.h"

static bool
pack(struct client *c, uint32_t chunk, uint32_t first, uint32_t count, uint32_t content,
    struct client_store *st)
{
	struct wirext_msg m = { .kind = WIREXT_DATA,
		.u.data = { chunk, first, count, content, data } };

	return hears(c, 50 * MS, m, st);
}

static void
test_store(void)
{
	struct client *c = make_client(false);
	struct client_store st;
	uint32_t chunk, buf, bytes;

	T_CHECK(pack(c, 1, 8, 8, 1024, &st));
	T_CHECK(st.which == 0xff);
	T_CHECK(st.zeros == NULL);
	T_CHECK(st.block == 8);
	T_CHECK(st.chunk == 1);
	T_CHECK(st.data != NULL);
	/* Some are here. */
	T_CHECK(pack(c, 1, 4, 8, 1024, &st));
	T_CHECK(st.which == 0x0f);
	T_CHECK(!pack(c, 1, 10, 2, 1024, &st));
	T_CHECK(client_counters(c).wire.dup_in_progress == 6);
	/* The end: known once, and only what is not here. */
	T_CHECK(pack(c, 1, 12, 8, 20, &st));
	T_CHECK(st.which == 0xf0);
	T_CHECK(st.zeros != NULL);
	T_CHECK(blockmap_count(st.zeros) == 1004);
	T_CHECK(blockmap_next(st.zeros, 0) == 20);
	T_CHECK(!pack(c, 1, 12, 8, 20, &st));
	T_CHECK(client_counters(c).left_out == 1004);
	T_CHECK(!client_take(c, &chunk, &buf, &bytes));
	T_CHECK(pack(c, 1, 0, 5, 20, &st));
	T_CHECK(st.which == 0x0f);
	T_CHECK(st.zeros == NULL);
	T_CHECK(client_take(c, &chunk, &buf, &bytes));
	T_CHECK(chunk == 1);
	T_CHECK(bytes == MIB);
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
		T_CHECK(b[0] == want[i].value);
		T_CHECK(b[1023] == want[i].value);
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
	T_CHECK(hears(c, 51 * MS, m, &st));
	T_CHECK(st.which == 1);
	T_CHECK(st.block == 8);
	T_CHECK(st.zeros == NULL);
	m.u.parity.index = 1;
	m.u.parity.group = 4;
	m.u.parity.content = 8;
	/* 8 is among the empty ones: its parity is of no use any more. */
	T_CHECK(hears(c, 52 * MS, m, &st));
	T_CHECK(st.which == 1);
	T_CHECK(st.block == 4);
	T_CHECK(st.zeros != NULL);
	T_CHECK(blockmap_count(st.zeros) == 1016);
	T_CHECK(client_take(c, &chunk, &buf, &bytes));
	T_CHECK(chunk == 2);
	const uint8_t *at = client_parity(c, buf);
	T_CHECK(at != NULL);
	T_CHECK(at[4] == 2);
	T_CHECK(at[8] == 0);
	client_free(c);
}

static void
test_fits(void)
{
	struct client *c = make_client(false);
	struct wirext_msg m = { .kind = WIREXT_MTU_PROBE }, said;
	struct client_store st;
	uint64_t now = 10 * MS;

	m.u.mtu_probe.number = 5;
	m.u.mtu_probe.blocks = 8;
	m.u.mtu_probe.n = 1;
	m.u.mtu_probe.id[0] = 8; /* another one */
	hears(c, now, m, &st);
	T_CHECK(!says(c, &now, 100 * MS, WIREXT_MTU_ACK, &said));
	m.u.mtu_probe.id[m.u.mtu_probe.n++] = 7;
	m.u.mtu_probe.blocks = 4;
	hears(c, now, m, &st);
	m.u.mtu_probe.blocks = 1;
	hears(c, now, m, &st);
	T_CHECK(says(c, &now, 20 * MS, WIREXT_MTU_ACK, &said));
	T_CHECK(said.u.mtu_ack.blocks == 4);
	T_CHECK(said.u.mtu_ack.number == 5);
	T_CHECK(said.u.mtu_ack.clientid == 7);
	hears(c, now, m, &st); /* twice on its way */
	T_CHECK(!says(c, &now, 20 * MS, WIREXT_MTU_ACK, &said));
	/* Such packets come, and then nothing does. */
	T_CHECK(pack(c, 0, 0, 4, 1024, &st));
	T_CHECK(says(c, &now, 1500 * MS, WIREXT_MTU_ACK, &said));
	T_CHECK(said.u.mtu_ack.blocks == 1);
	T_CHECK(said.u.mtu_ack.number == 0);
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
