/* A part of the server's engine: what has been sent. */
#include "frisbeed/server/server_sent.h"
#include "tests/t.h"

enum { CHUNKS = 8, SHORT = 100 }; /* the last chunk has so many blocks */

static struct server_sent t;

static void
begin(void)
{
	struct server_image image = server_image_of(
	    ((CHUNKS - 1) * WIRE_CHUNK_BLOCKS + SHORT) * (uint64_t)WIRE_BLOCK_BYTES);

	T_CHECK(image.chunks == CHUNKS);
	T_CHECK(server_image_chunk(&image, 0) == WIRE_CHUNK_BLOCKS);
	T_CHECK(server_image_chunk(&image, CHUNKS - 1) == SHORT);
	T_CHECK(server_sent_init(&t, &image) == 0);
}

static void
send(uint64_t now_us, uint32_t chunk, uint32_t first, uint32_t count)
{
	server_sent_run(&t, chunk, first, count);
	for (uint32_t i = 0; i < count; i++)
		server_sent_block(&t, now_us, chunk, first + i);
}

/* After how many blocks was this one sent? */
static void
test_upto(void)
{
	uint64_t sent = 0;

	begin();
	T_CHECK(!server_sent_upto(&t, 0, 0, &sent));
	send(1, 1, 0, 100);
	send(1, 5, 32, 32);
	T_CHECK(server_sent_upto(&t, 5, 32, &sent));
	T_CHECK(sent == 101);
	T_CHECK(server_sent_upto(&t, 5, 63, &sent));
	T_CHECK(sent == 132);
	T_CHECK(!server_sent_upto(&t, 5, 64, &sent));
	T_CHECK(!server_sent_upto(&t, 5, 31, &sent));
	T_CHECK(!server_sent_upto(&t, 4, 40, &sent));
	server_sent_parity(&t, 2);
	send(2, 5, 40, 1); /* once more */
	T_CHECK(server_sent_upto(&t, 5, 40, &sent));
	T_CHECK(sent == 134);
	T_CHECK(server_sent_upto(&t, 5, 41, &sent));
	T_CHECK(sent == 110);
	for (unsigned i = 0; i < SERVER_SENT_RUNS; i++)
		server_sent_run(&t, 7, 0, 32);
	T_CHECK(!server_sent_upto(&t, 5, 41, &sent));
	server_sent_fini(&t);
}

/* What was sent before is counted, of a chunk that was sent whole, too. */
static void
test_again(void)
{
	begin();
	send(1, 0, 0, 10);
	T_CHECK(t.blocks == 10);
	T_CHECK(t.again == 0);
	send(1, 0, 5, 10);
	T_CHECK(t.again == 5);
	send(1, CHUNKS - 1, 0, SHORT);
	T_CHECK(t.again == 5);
	send(1, CHUNKS - 1, 0, SHORT);
	T_CHECK(t.again == 5 + SHORT);
	server_sent_parity(&t, 7);
	T_CHECK(t.parity == 1);
	T_CHECK(t.last_us == 7);
	T_CHECK(server_sent_all(&t) == 20 + 2 * SHORT + 1);
	server_sent_fini(&t);
}

static void
test_since(void)
{
	begin();
	T_CHECK(!server_sent_since(&t, 2, 0));
	send(5000, 2, 0, 1);
	T_CHECK(server_sent_since(&t, 2, 4));
	T_CHECK(server_sent_since(&t, 2, 5));
	T_CHECK(!server_sent_since(&t, 2, 6));
	T_CHECK(!server_sent_since(&t, 3, 0));
	server_sent_fini(&t);
}

int
main(void)
{
	test_upto();
	test_again();
	test_since();
	return t_done();
}
