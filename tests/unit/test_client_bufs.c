/* Chunk buffers and damage, without a session: what is lacking, parity, and who has a buffer. */
#include <string.h>

#include "common/wire/wire.h"
#include "frisbee/client/client_bufs.h"
#include "tests/t.h"

enum { BUFFERS = 3, S = 1000000 };

static struct client_bufs bufs;

static void
make(bool in_order)
{
	client_bufs_free(&bufs);
	T_CHECK(client_bufs_make(&bufs, BUFFERS, in_order));
}

/* A chunk begins of which these blocks are needed at first. */
static struct client_buffer *
begin(uint32_t chunk, struct blockmap need, bool final)
{
	struct client_beginning how = { .chunk = chunk,
		.blocks = WIRE_CHUNK_BLOCKS,
		.need = need,
		.final = final,
		.pin = 1 };

	return client_bufs_begin(&bufs, &how);
}

static struct client_buffer *
begin_whole(uint32_t chunk)
{
	return begin(chunk, blockmap_range(0, WIRE_CHUNK_BLOCKS), true);
}

static void
fill(struct client_buffer *b, uint32_t first, uint32_t last)
{
	for (uint32_t i = first; i <= last; i++)
		client_bufs_block(&bufs, b, i, 1);
}

static void
test_a_way_through(void)
{
	make(false);
	struct client_buffer *b = begin_whole(7);
	T_CHECK(b->nlack == WIRE_CHUNK_BLOCKS);
	T_CHECK(bufs.nfree == BUFFERS - 1);
	T_CHECK(client_bufs_block(&bufs, b, 5, 1) == BUFFER_GOT);
	T_CHECK(client_bufs_block(&bufs, b, 5, 1) == BUFFER_HAD);
	fill(b, 0, 1022);
	T_CHECK(b->nlack == 1);
	T_CHECK(client_bufs_take(&bufs, NULL) == NULL);
	T_CHECK(client_bufs_block(&bufs, b, 1023, 1) == BUFFER_ENDS);
	T_CHECK(bufs.nfilling == 0);
	T_CHECK(client_bufs_take(&bufs, NULL) == b);
	T_CHECK(client_bufs_take(&bufs, NULL) == NULL);
	T_CHECK(bufs.ntaken == 1);
	T_CHECK(!b->mixed);
	client_bufs_release(&bufs, client_bufs_number(&bufs, b));
	T_CHECK(bufs.nfree == BUFFERS);
	T_CHECK(bufs.nreleased == 1);
}

static void
test_starved(void)
{
	make(false);
	T_CHECK(!client_bufs_starved(&bufs));
	for (uint32_t i = 0; i < BUFFERS; i++)
		fill(begin_whole(i), 0, 1023);
	T_CHECK(client_bufs_starved(&bufs));
	for (uint32_t i = 0; i < BUFFERS; i++)
		T_CHECK(client_bufs_take(&bufs, NULL)->chunk == i);
	T_CHECK(client_bufs_starved(&bufs));
}

static void
test_parity(void)
{
	uint32_t place = 0;

	make(false);
	struct client_buffer *b = begin_whole(0);
	fill(b, 0, 1023 - 2 * WIREXT_GROUPS); /* two of each group are missing */
	T_CHECK(b->lack[3] == 2);
	T_CHECK(client_bufs_parity(&bufs, b, 3, 10, 1, &place) == BUFFER_GOT);
	T_CHECK(place % WIREXT_GROUPS == 3);
	T_CHECK(b->parity_at[place] == 11);
	T_CHECK(client_bufs_parity(&bufs, b, 3, 10, 1, &place) == BUFFER_HAD);
	T_CHECK(!b->spent); /* the same packet twice */
	/* The server has sent all others meanwhile, and begins again. */
	client_bufs_parity(&bufs, b, 3, 100, 1, &place);
	T_CHECK(b->lack[3] == 0);
	T_CHECK(client_bufs_parity(&bufs, b, 3, 101, 1, &place) == BUFFER_HAD);
	fill(b, 0, 1023);
	T_CHECK(b->state == BUFFER_COMPLETE);
	T_CHECK(b->nmissing == 0);
}

/* A block of a group whose parity did its work already counts no more. */
static void
test_block_for_parity(void)
{
	uint32_t place = 0;

	make(false);
	struct client_buffer *b = begin_whole(0);
	fill(b, 0, 1021);
	T_CHECK(client_bufs_parity(&bufs, b, 1022 % WIREXT_GROUPS, 0, 1, &place) ==
		BUFFER_GOT);
	T_CHECK(place == 1022);
	T_CHECK(client_bufs_block(&bufs, b, 1022, 1) == BUFFER_GOT);
	T_CHECK(b->parity_at[1022] == 0);
	T_CHECK(b->nlack == 1);
	T_CHECK(client_bufs_block(&bufs, b, 1023, 2) == BUFFER_ENDS);
	T_CHECK(b->mixed);
}

static void
test_parity_is_spent(void)
{
	uint32_t place = 0;

	make(false);
	struct client_buffer *b = begin_whole(0);
	T_CHECK(client_bufs_parity(&bufs, b, 0, 5, 1, &place) == BUFFER_GOT);
	client_bufs_parity(&bufs, b, 0, 60, 1, &place);
	client_bufs_parity(&bufs, b, 0, 120, 1, &place);
	T_CHECK(!client_asks_blocks(b));
	T_CHECK(client_bufs_parity(&bufs, b, 0, 5, 1, &place) == BUFFER_HAD);
	T_CHECK(client_asks_blocks(b));
}

static void
test_parts(void)
{
	make(false);
	struct client_buffer *b = begin(9, blockmap_range(0, 4), false);
	T_CHECK(b->nlack == 4);
	fill(b, 3, 100);
	T_CHECK(b->nlack == 3);
	fill(b, 0, 2);
	T_CHECK(client_bufs_take(&bufs, NULL) == b);
	T_CHECK(bufs.ntaken == 0); /* it may be needed again */
	struct blockmap here = blockmap_range(90, 10), more = blockmap_range(500, 2);
	T_CHECK(client_bufs_need(&bufs, b, &here, false, 0));
	T_CHECK(client_bufs_take(&bufs, NULL) == b);
	T_CHECK(!client_bufs_need(&bufs, b, &more, true, 0));
	T_CHECK(b->nlack == 2);
	fill(b, 500, 501);
	T_CHECK(client_bufs_take(&bufs, NULL) == b);
	T_CHECK(bufs.ntaken == 1);
}

static void
test_damaged_in_order(void)
{
	struct client_chunks k;

	make(true);
	T_CHECK(client_chunks_init(&k, BUFFERS, true, 0, 0) == 0);
	for (uint32_t i = BUFFERS; i-- > 0;) {
		struct client_buffer *b = begin_whole(i);
		client_chunks_take(&k, i, client_bufs_number(&bufs, b));
		fill(b, 0, 1023);
		client_chunks_done(&k, i);
	}
	const struct client_buffer *first = client_bufs_take(&bufs, &k);
	T_CHECK(first->chunk == 0);
	T_CHECK(client_bufs_take(&bufs, &k)->chunk == 1);
	struct client_lost lost = {
		.blocks = WIRE_CHUNK_BLOCKS, .pin = 2, .bad = blockmap_range(100, 1)
	};
	struct client_buffer *b = &bufs.at[client_bufs_number(&bufs, first)];
	client_chunks_undone(&k, 0);
	T_CHECK(client_bufs_lose(&bufs, b, &lost) == 0);
	T_CHECK(b->nlack == 1);
	T_CHECK(b->pin == 1); /* what was not damaged stays, whoever sent it */
	T_CHECK(client_bufs_take(&bufs, &k) == NULL); /* chunk 2 waits for it */
	T_CHECK(client_bufs_block(&bufs, b, 100, 2) == BUFFER_ENDS);
	T_CHECK(b->mixed);
	client_chunks_done(&k, 0);
	T_CHECK(client_bufs_take(&bufs, &k) == b);
	T_CHECK(client_bufs_take(&bufs, &k)->chunk == 2);
	T_CHECK(bufs.ntaken == 3);
	client_chunks_fini(&k);
}

static void
test_dubious(void)
{
	make(false);
	struct client_buffer *b = begin_whole(0);
	T_CHECK(client_bufs_drop_dubious(&bufs, UINT32_MAX) == NULL);
	client_bufs_begin(&bufs,
	    &(struct client_beginning){ .chunk = 1, .blocks = 8, .dubious = true });
	T_CHECK(client_bufs_drop_dubious(&bufs, 1) == NULL);
	const struct client_buffer *gone = client_bufs_drop_dubious(&bufs, 0);
	T_CHECK(gone != NULL && gone->chunk == 1);
	T_CHECK(bufs.nfree == BUFFERS - 1);
	T_CHECK(b->state == BUFFER_FILLING);
}

static void
test_settled(void)
{
	make(false);
	struct client_buffer *a = begin_whole(0), *b = begin_whole(1);
	client_buffer_passed(a, 10, 40);
	client_buffer_passed(b, 20, 60);
	T_CHECK(client_bufs_settled_before(&bufs, 30, 100) == 40);
	T_CHECK(client_bufs_settled_before(&bufs, 40, 100) == 60);
	T_CHECK(client_bufs_settled_before(&bufs, 60, 100) == 100);
	client_bufs_settle_all(&bufs, 50);
	T_CHECK(a->settled_us == 40);
	T_CHECK(b->settled_us == 50);
}

/* Since when a chunk is only repeated: not while something comes or is asked for, nor through
 * a time in which it could be asked for. */
static void
test_repeats(void)
{
	make(false);
	struct client_buffer *b = begin_whole(0);
	client_buffer_repeated(b, 1 * S);
	client_buffer_repeated(b, 2 * S);
	client_buffer_repeated(b, 4 * S - 1);
	T_CHECK(b->repeats_us == 1 * S);
	client_buffer_repeated(b, 6 * S);
	T_CHECK(b->repeats_us == 6 * S);
	client_buffer_moved(b);
	T_CHECK(b->repeats_us == 0);
}

/* Four times in a row, for a second, from one sender alone. */
static void
test_damage_is_the_servers(void)
{
	struct client_damage d = { 0 };

	for (unsigned i = 0; i < 3; i++) {
		T_CHECK(client_damage_count(&d, 0, true));
		client_damage_begin_anew(&d, 0, false);
		T_CHECK(client_damage_suspects(&d) == (i > 0));
		T_CHECK(d.closed == (i > 0));
	}
	client_damage_count(&d, S - 1, true);
	T_CHECK(!client_damage_is_servers(&d, S - 1));
	T_CHECK(client_damage_is_servers(&d, S));
	client_damage_end(&d);
	T_CHECK(d.times == 0);
}

static void
test_damage_is_disputed(void)
{
	uint8_t data[WIRE_BLOCK_BYTES] = { 0 };
	struct client_damage d = { 0 };

	client_damage_compare(
	    &d, 0, data); /* nothing is kept before the first damage */
	client_damage_count(&d, 0, true);
	client_damage_begin_anew(&d, 0, false);
	client_damage_compare(&d, 0, data);
	client_damage_compare(&d, 0, data);
	T_CHECK(!d.disputed);
	data[77] = 1;
	client_damage_compare(&d, 0, data);
	T_CHECK(d.disputed);
	T_CHECK(!client_damage_count(&d, 2 * S, true));
	T_CHECK(d.counted == 0);
	client_damage_end(&d);
}

int
main(void)
{
	test_a_way_through();
	test_starved();
	test_parity();
	test_block_for_parity();
	test_parity_is_spent();
	test_parts();
	test_damaged_in_order();
	test_dubious();
	test_settled();
	test_repeats();
	test_damage_is_the_servers();
	test_damage_is_disputed();
	client_bufs_free(&bufs);
	return t_done();
}
