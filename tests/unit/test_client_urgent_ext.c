/* A chunk that is needed now, of a server with the extension: it is asked for by a request of
 * the base protocol, though all that is said else are messages of the extension. */
#include <string.h>

#include "common/wire/blockmap.h"
#include "frisbee/client/client_requests.h"
#include "tests/t.h"
#include "tests/unit/client_ext_talk.h"

static struct client *
begin(bool parity)
{
	struct client_config cfg = client_config();

	cfg.ext = true;
	cfg.parity = parity;
	cfg.redo_us = 1000 * MS;
	return join(&cfg, WIREXT_CAN_PARITY);
}

/* How many blocks of a chunk it asks for in so long; of others it asks for none. */
static uint32_t
asks_only(struct client *c, uint64_t *now, uint64_t us, uint32_t chunk)
{
	struct asked a = count_asked(c, now, us, chunk);

	T_CHECK(a.others == 0);
	return a.blocks;
}

/* The stream is elsewhere, and goes on meanwhile. */
static void
test_asked_at_once(bool parity)
{
	struct client *c = begin(parity);
	uint64_t now = 10 * MS;

	block_comes(c, now, 1, 0);
	T_CHECK(asks_only(c, &now, 20 * MS, 0) == 0);
	client_urgent(c, now, 3);
	block_comes(c, now, 1, 1);
	T_CHECK(asks_only(c, &now, MS, 3) == WIRE_CHUNK_BLOCKS);
	for (uint32_t b = 2; b < 40; b++) {
		block_comes(c, now, 1, b);
		T_CHECK(asks_only(c, &now, MS, 3) == 0);
	}
	client_free(c);
}

/* A request that was lost, or its answer, is not waited for for ever. */
static void
test_asked_again(void)
{
	struct client *c = begin(true);
	uint64_t now = 10 * MS;
	uint32_t asked = 0;

	client_urgent(c, now, 2);
	for (uint32_t b = 0; b < 300; b++) {
		block_comes(c, now, 1, b);
		asked += asks_only(c, &now, 20 * MS, 2);
	}
	T_CHECK(asked >= 2 * WIRE_CHUNK_BLOCKS);
	T_CHECK(asked <= 7 * WIRE_CHUNK_BLOCKS);
	client_free(c);
}

/* A reader waits for a block, and others of its chunk come again and again: it is asked for
 * once more. */
static void
test_repeated(void)
{
	struct client_config cfg = client_config();
	struct blockmap need = blockmap_range(5, 1);
	struct wirext_msg said;
	uint64_t now = 10 * MS, asked;
	bool again = false;

	cfg.ext = true;
	struct client *c = join(&cfg, WIREXT_CAN_URGENT);
	block_comes(c, now, 1, 20);
	client_read(c, now, 1, &need);
	T_CHECK(says(c, &now, 10 * MS, WIREXT_URGENT, &said));
	for (asked = now; !again && now < asked + 10000 * MS;) {
		block_comes(c, now, 1, 20);
		again = says(c, &now, 5 * MS, WIREXT_URGENT, &said);
	}
	T_CHECK(again);
	T_CHECK(now >= asked + 1000 * MS);
	T_CHECK(now < asked + CLIENT_PATIENCE_US + 50 * MS);
	client_free(c);
}

int
main(void)
{
	test_repeated();
	test_asked_at_once(false);
	test_asked_at_once(true);
	test_asked_again();
	return t_done();
}
