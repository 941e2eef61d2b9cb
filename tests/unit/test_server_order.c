/* What machines need that start from the image: the list of it goes round; and the whole engine
 * sends it while a client waits for blocks, behind what clients name, and as a part of what is
 * sent. */
#include "frisbeed/server/server_order.h"

#include <stdlib.h>
#include <string.h>

#include "frisbeed/server/server_urgent.h"
#include "tests/t.h"
#include "tests/unit/urgent_talk.h"

enum { BLOCKS_MOST = 8192 };

static const uint8_t ip_b[4] = { 10, 0, 0, 3 };
static struct server_order o;

/* A list that is the reader's own, as the engine wants it. */
static struct wirext_run *
list_of(const struct wirext_run *runs, uint32_t n)
{
	struct wirext_run *own = malloc(n * sizeof *own);

	if (own == NULL)
		abort();
	memcpy(own, runs, n * sizeof *own);
	return own;
}

static const struct wirext_run three[] = { { 2, 100, 40 }, { 0, 500, 20 }, { 2, 0, 1 } };

static bool
next_is(uint32_t most, uint32_t chunk, unsigned first, unsigned count)
{
	struct wirext_run r;

	return server_order_next(&o, most, &r) && r.chunk == chunk && r.first == first &&
	       r.count == count;
}

static bool
is_over(void)
{
	struct wirext_run r;

	return !server_order_next(&o, 32, &r);
}

static void
test_round(void)
{
	T_CHECK(is_over());
	server_order_begin(&o); /* there is no list */
	T_CHECK(is_over());
	server_order_set(&o, list_of(three, 3), 3);
	T_CHECK(is_over());
	server_order_begin(&o);
	T_CHECK(next_is(32, 2, 100, 32));
	T_CHECK(next_is(32, 2, 132, 8));
	T_CHECK(next_is(32, 0, 500, 20));
	T_CHECK(next_is(32, 2, 0, 1));
	T_CHECK(is_over());
	server_order_fini(&o);
}

/* Whoever comes in the middle gets the rest, then the beginning, also of the run that has begun. */
static void
test_late(void)
{
	server_order_set(&o, list_of(three, 3), 3);
	server_order_begin(&o);
	T_CHECK(next_is(32, 2, 100, 32));
	server_order_begin(&o);
	T_CHECK(next_is(32, 2, 132, 8));
	T_CHECK(next_is(32, 0, 500, 20));
	T_CHECK(next_is(32, 2, 0, 1));
	T_CHECK(next_is(32, 2, 100, 32));
	T_CHECK(next_is(32, 2, 132, 8));
	T_CHECK(is_over());
	server_order_begin(&o);
	T_CHECK(next_is(32, 0, 500, 20));
	server_order_stop(&o);
	T_CHECK(is_over());
	server_order_fini(&o);
	T_CHECK(o.runs == NULL && o.n == 0);
}

/* What was sent since a client has last begun to wait does not go once more. */
static void
test_went(void)
{
	server_order_set(&o, list_of(three, 3), 3);
	server_order_went(&o, &(struct wirext_run){ 2, 100, 40 }); /* nobody waits */
	server_order_begin(&o);
	server_order_went(&o, &(struct wirext_run){ 2, 90, 12 });
	server_order_went(&o, &(struct wirext_run){ 2, 104, 4 });
	server_order_went(&o, &(struct wirext_run){ 0, 500, 20 });
	server_order_went(&o, &(struct wirext_run){ 9, 0, 1024 }); /* not in the list */
	T_CHECK(next_is(32, 2, 102, 2));
	T_CHECK(next_is(32, 2, 108, 32));
	T_CHECK(next_is(32, 2, 0, 1));
	T_CHECK(is_over());
	server_order_begin(&o);
	T_CHECK(next_is(64, 2, 100, 40));
	server_order_went(&o, &(struct wirext_run){ 2, 100, 40 });
	server_order_stop(&o);
	server_order_begin(&o);
	T_CHECK(next_is(32, 0, 500, 20));
	T_CHECK(next_is(32, 2, 0, 1));
	T_CHECK(next_is(64, 2, 100, 40));
	T_CHECK(is_over());
	server_order_fini(&o);
}

/* The urgent blocks of so many milliseconds, as chunk * 1024 + block; how many there are. */
static uint32_t
urgent_in(struct server *s, uint64_t *now, unsigned ms, uint32_t *blocks)
{
	struct server_out out;
	uint32_t n = 0;

	for (unsigned i = 0; i < ms; i++) {
		*now += 1000;
		for (read_all(s); server_output(s, *now, &out); read_all(s))
			for (uint32_t k = 0; out.kind == SERVER_OUT_URGENT && k < out.count; k++)
				if (n < BLOCKS_MOST)
					blocks[n++] =
					    out.chunk * WIRE_CHUNK_BLOCKS + out.block + k;
	}
	return n;
}

/* Are these the blocks of the three runs, in their order? */
static bool
are_the_three(const uint32_t *blocks, uint32_t n)
{
	uint32_t at = 0;

	for (unsigned i = 0; i < 3; i++)
		for (uint32_t k = 0; k < three[i].count; k++, at++)
			if (at >= n || blocks[at] != three[i].chunk * WIRE_CHUNK_BLOCKS +
			                                 three[i].first + k)
				return false;
	return at == n;
}

/* Nothing goes while nobody waits; then all of it, in order, behind what was named; and once. */
static void
test_engine(void)
{
	static uint32_t blocks[BLOCKS_MOST];
	uint64_t now;
	struct server *s = begin(&now);

	server_set_order(s, list_of(three, 3), 3);
	T_CHECK(run(s, &now, 60).urgent == 0);
	say_urgent(s, now, 1, 7, 1);
	T_CHECK(urgent_in(s, &now, 60, blocks) == 62);
	T_CHECK(blocks[0] == WIRE_CHUNK_BLOCKS + 7);
	T_CHECK(are_the_three(blocks + 1, 61));
	struct server_stats st = server_stats(s);
	T_CHECK(st.urgent_asked == 1 && st.urgent_sent == 62);
	say_urgent(s, now, 1, 7, 1);
	T_CHECK(urgent_in(s, &now, 60, blocks) == 1);
	/* Another client. */
	join_ext(s, now, ip_b);
	say_urgent_as(s, now, ip_b, (struct wirext_run){ 1, 9, 1 });
	T_CHECK(urgent_in(s, &now, 60, blocks) == 62);
	T_CHECK(are_the_three(blocks + 1, 61));
	server_free(s);
}

/* The list is there when somebody waits already. */
static void
test_engine_list_late(void)
{
	static uint32_t blocks[BLOCKS_MOST];
	uint64_t now;
	struct server *s = begin(&now);

	say_urgent(s, now, 1, 7, 1);
	T_CHECK(urgent_in(s, &now, 60, blocks) == 1);
	server_set_order(s, list_of(three, 3), 3);
	T_CHECK(urgent_in(s, &now, 60, blocks) == 61);
	T_CHECK(are_the_three(blocks, 61));
	server_free(s);
}

/* What a client asked for just now is not sent again because the list has it, too. */
static void
test_engine_merged(void)
{
	static uint32_t blocks[BLOCKS_MOST];
	uint64_t now;
	struct server *s = begin(&now);

	server_set_order(s, list_of(three, 3), 3);
	say_urgent(s, now, 2, 100, 40);
	T_CHECK(urgent_in(s, &now, 60, blocks) == 61);
	T_CHECK(are_the_three(blocks, 61));
	server_free(s);
}

static const struct wirext_run all[] = { { 0, 0, 1024 }, { 1, 0, 1024 }, { 2, 0, 1024 } };

/* The others have their half, and who names blocks finds a part of the urgent half free. */
static void
test_engine_share(void)
{
	uint64_t now;
	struct server *s = begin(&now);

	server_set_order(s, list_of(all, 3), 3);
	T_CHECK(run(s, &now, 60).others > 0);
	say_urgent(s, now, 1, 0, 1);
	struct went w = run(s, &now, 150);
	T_CHECK(w.urgent > w.others / 2);
	T_CHECK(w.urgent <= w.others + SERVER_URGENT_BURST + 16);
	/* The others end with the client's credit, and the list waits for more of them. */
	run(s, &now, 2000);
	struct server_stats st = server_stats(s);
	T_CHECK(st.blocks_sent == WIREXT_JOIN_CREDIT);
	T_CHECK(st.urgent_sent > st.blocks_sent / 2);
	T_CHECK(st.urgent_sent <= st.blocks_sent + SERVER_URGENT_BURST);
	T_CHECK(run(s, &now, 500).urgent == 0);
	say_urgent(s, now, 1, 100, 64);
	T_CHECK(run(s, &now, 20).urgent == 64);
	server_free(s);
}

/* How many other blocks go until all of these went as urgent ones?  UINT32_MAX: these do not. */
static uint32_t
others_until(struct server *s, uint64_t *now, struct wirext_run run)
{
	struct server_out out;
	uint32_t others = 0, own = 0;

	for (unsigned i = 0; i < 1000; i++) {
		*now += 1000;
		for (read_all(s); server_output(s, *now, &out); read_all(s)) {
			if (out.kind == SERVER_OUT_BLOCK || out.kind == SERVER_OUT_DATA)
				others += out.count;
			else if (out.kind == SERVER_OUT_URGENT && out.chunk == run.chunk &&
				 out.block >= run.first && out.block < run.first + run.count)
				own += out.count;
			if (own == run.count)
				return others;
		}
	}
	return UINT32_MAX;
}

/* The list goes until it has used what it may of the allowance.  A client that names blocks then
 * does not wait for others that would have to be sent before. */
static void
test_engine_allowance(void)
{
	const struct wirext_run own = { 2, 500, 64 };
	uint64_t now;
	struct server *s = begin(&now);

	server_set_order(s, list_of(all, 3), 3);
	say_urgent(s, now, 2, 1023, 1);
	T_CHECK(run(s, &now, 150).urgent > SERVER_URGENT_BURST);
	say_urgent(s, now, own.chunk, own.first, own.count);
	uint32_t n = others_until(s, &now, own);
	T_CHECK(n < 16);
	server_free(s);
}

/* In the middle of the list, what a client names comes before most of what the list still has. */
static void
test_engine_first(void)
{
	static uint32_t blocks[BLOCKS_MOST];
	uint64_t now;
	struct server *s = begin(&now);

	server_set_order(s, list_of(all, 3), 3);
	say_urgent(s, now, 2, 1023, 1);
	T_CHECK(run(s, &now, 100).urgent > 0);
	say_urgent(s, now, 2, 500, 64);
	uint32_t n = urgent_in(s, &now, 40, blocks), at = 0, own = 0;
	for (; at < n && own < 64; at++)
		own += blocks[at] >= 2 * WIRE_CHUNK_BLOCKS + 500 &&
		       blocks[at] < 2 * WIRE_CHUNK_BLOCKS + 564;
	T_CHECK(own == 64);
	T_CHECK(at <= 64 + SERVER_URGENT_BURST / 4);
	server_free(s);
}

/* When the last client that waits has gone, the list stops, although others load. */
static void
test_engine_leave(void)
{
	uint64_t now;
	struct server *s = begin(&now);

	join_ext(s, now, ip_b);
	server_set_order(s, list_of(all, 3), 3);
	say_urgent(s, now, 1, 0, 1);
	T_CHECK(run(s, &now, 20).urgent > 0);
	leave_ext(s, now, ip_a);
	struct went w = run(s, &now, 100);
	T_CHECK(w.others > SERVER_URGENT_BURST);
	T_CHECK(w.urgent <= SERVER_URGENT_BURST / 4);
	server_free(s);
}

/* A session without a pace, in which all of it would go at once, sends nothing of it. */
static void
test_engine_unpaced(void)
{
	struct server_config cfg = { .image_bytes = 3 * MIB,
		.whole_chunks = true,
		.run_blocks = 32,
		.ahead = 4,
		.ext = { .on = true, .port = 5008, .session = 9 } };
	static uint32_t blocks[BLOCKS_MOST];
	struct server *s = server_new(&cfg, 0);
	uint64_t now = 0;

	join_ext(s, now, ip_a);
	server_set_order(s, list_of(all, 3), 3);
	say_urgent(s, now, 1, 0, 5);
	T_CHECK(urgent_in(s, &now, 200, blocks) == 5);
	server_free(s);
}

int
main(void)
{
	test_round();
	test_late();
	test_went();
	test_engine();
	test_engine_list_late();
	test_engine_merged();
	test_engine_share();
	test_engine_first();
	test_engine_allowance();
	test_engine_leave();
	test_engine_unpaced();
	return t_done();
}
