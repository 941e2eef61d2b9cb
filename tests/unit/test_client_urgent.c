/* A chunk that is needed now: it is asked for before all others, by itself, and the last
 * buffer is kept for it. */
#include <string.h>

#include "frisbee/client/client_urgent.h"
#include "tests/t.h"
#include "tests/unit/client_talk.h"

enum { CHUNKS = 9 };

/* In order, the first two chunks would be asked for. */
static void
test_before_others(void)
{
	struct client *c = loading(8, CHUNKS);

	client_urgent(c, 0, 5);
	T_CHECK(client_deadline(c, 0) == 0);
	T_CHECK(asks_whole(c, 0, 5, 1024));
	T_CHECK(asks_whole(c, 0, 0, 1024));
	T_CHECK(is_silent(c, 0));
	client_free(c);
}

/* Though as many as are asked for ahead were asked for before. */
static void
test_while_others_come(void)
{
	struct client *c = loading(8, CHUNKS);

	T_CHECK(asks_whole(c, 0, 0, 1024));
	T_CHECK(asks_whole(c, 0, 1, 1024));
	T_CHECK(is_silent(c, 0));
	T_CHECK(blocks(c, 5 * MS, 0, 0, 9) == 10);
	client_urgent(c, 6 * MS, 7);
	client_urgent(c, 6 * MS, 7);
	T_CHECK(asks_whole(c, 6 * MS, 7, 1024));
	T_CHECK(is_silent(c, 6 * MS));
	client_free(c);
}

/* What came of it is not asked for again; what is being sent is not either. */
static void
test_partly_here(void)
{
	struct client *c = loading(8, CHUNKS);
	struct wire_msg m;

	T_CHECK(blocks(c, MS, 4, 100, 1023) == 924);
	client_urgent(c, 2 * MS, 4);
	while (says(c, 2 * MS, &m)) {
		T_CHECK(m.subtype == WIRE_REQ);
		T_CHECK(m.u.req.chunk != 4);
	}
	T_CHECK(blocks(c, 3 * MS, 5, 0, 0) == 1);
	T_CHECK(says(c, 50 * MS, &m));
	struct blockmap want = blockmap_get(m.u.preq.map);
	T_CHECK(m.subtype == WIRE_PREQ);
	T_CHECK(m.u.preq.chunk == 4);
	T_CHECK(blockmap_count(&want) == 100);
	T_CHECK(blockmap_test(&want, 99));
	client_free(c);
}

/* Nothing is said of what is here, of what the image has not got, or is in order. */
static void
test_means_nothing(void)
{
	struct client *c = loading(8, CHUNKS);

	T_CHECK(asks_whole(c, 0, 0, 1024));
	T_CHECK(asks_whole(c, 0, 1, 1024));
	T_CHECK(blocks(c, MS, 3, 0, 1023) == 1024);
	while (!is_silent(c, MS))
		;
	client_urgent(c, MS, 3);
	client_urgent(c, MS, CHUNKS);
	T_CHECK(is_silent(c, MS));
	client_free(c);
}

static void
test_in_order(void)
{
	struct client_config cfg = config(4);
	struct wire_msg m;

	cfg.in_order = true;
	struct client *c = client_new(&cfg, 0);
	says(c, 0, &m);
	join_reply(c, 0, CHUNKS * 1024);
	client_urgent(c, 0, 3);
	T_CHECK(asks_whole(c, 0, 0, 1024));
	client_free(c);
}

/* Before anything is known of the image; too many of them. */
static void
test_early(void)
{
	struct client_config cfg = config(4);
	struct client *c = client_new(&cfg, 0);
	struct wire_msg m;

	client_urgent(c, 0, 2);
	T_CHECK(says(c, 0, &m));
	T_CHECK(m.subtype == WIRE_JOIN);
	client_urgent(c, 0, 6);
	for (uint32_t i = 0; i < CLIENT_URGENT_MAX - 1; i++)
		client_urgent(c, 0, CHUNKS + i);
	join_reply(c, 0, CHUNKS * 1024);
	T_CHECK(asks_whole(c, 0, 6, 1024));
	T_CHECK(asks_whole(c, 0, 0, 1024));
	client_free(c);
}

/* While there is no buffer it is not asked for; the first one that comes back is for it. */
static void
test_last_buffer(void)
{
	struct client *c = loading(2, CHUNKS);
	uint32_t chunk, buf[2], bytes;
	struct wire_msg m;

	for (uint32_t i = 0; i < 2; i++) {
		T_CHECK(blocks(c, MS, i, 0, 1023) == 1024);
		T_CHECK(client_take(c, &chunk, &buf[i], &bytes));
	}
	client_urgent(c, 2 * MS, 8);
	T_CHECK(!says(c, 2 * MS, &m));
	client_release(c, 3 * MS, buf[0]);
	T_CHECK(asks_whole(c, 3 * MS, 8, 1024));
	T_CHECK(blocks(c, 4 * MS, 5, 0, 0) == 0);
	T_CHECK(blocks(c, 5 * MS, 8, 0, 1023) == 1024);
	client_release(c, 6 * MS, buf[1]);
	T_CHECK(blocks(c, 7 * MS, 5, 1, 1) == 1);
	client_free(c);
}

/* The part alone: what is said to it, and what it forgets. */
static void
test_list(void)
{
	struct client_urgent u = { 0 };
	struct client_chunks k;

	T_CHECK(client_chunks_init(&k, 100, true, 0, 0) == 0);
	T_CHECK(!client_urgent_lacks_buffer(&u, &k));
	T_CHECK(client_urgent_add(&u, 5));
	T_CHECK(!client_urgent_add(&u, 5));
	T_CHECK(client_urgent_is(&u, 5));
	T_CHECK(!client_urgent_is(&u, 6));
	T_CHECK(client_urgent_lacks_buffer(&u, &k));
	client_chunks_take(&k, 5, 0);
	T_CHECK(!client_urgent_lacks_buffer(&u, &k));
	for (uint32_t i = 0; i < CLIENT_URGENT_MAX; i++)
		client_urgent_add(&u, 37 + i); /* the last one is not in the image */
	T_CHECK(u.n == CLIENT_URGENT_MAX);
	T_CHECK(!client_urgent_is(&u, 5)); /* the oldest one gave way */
	client_chunks_take(&k, 70, 1);
	client_chunks_done(&k, 70);
	client_urgent_forget_done(&u, &k);
	T_CHECK(u.n == CLIENT_URGENT_MAX - 2);
	T_CHECK(!client_urgent_is(&u, 70));
	T_CHECK(!client_urgent_is(&u, 100));
	T_CHECK(client_urgent_is(&u, 71));
	client_chunks_fini(&k);
}

int
main(void)
{
	test_list();
	test_before_others();
	test_while_others_come();
	test_partly_here();
	test_means_nothing();
	test_in_order();
	test_early();
	test_last_buffer();
	return t_done();
}
