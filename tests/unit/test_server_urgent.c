/* Blocks that somebody waits for: what is added, in which order it goes, and how much of it before
 * others; and the whole engine: URGENT in, URGENT_DATA out before what is read ahead. */
#include "frisbeed/server/server_urgent.h"

#include <string.h>

#include "tests/t.h"
#include "tests/unit/urgent_talk.h"

static const uint8_t a[4] = { 10, 0, 0, 2 }, b[4] = { 10, 0, 0, 3 };
static struct server_urgent u;

static uint32_t
ask(uint64_t now_us, const uint8_t ip[4], uint32_t chunk, unsigned first, unsigned count)
{
	const struct wirext_run r = { chunk, (uint16_t)first, (uint16_t)count };

	return server_urgent_ask(&u, now_us, ip, &r);
}

static bool
next_is(uint32_t most, uint32_t chunk, unsigned first, unsigned count)
{
	struct wirext_run r;

	return server_urgent_next(&u, most, &r) && r.chunk == chunk && r.first == first &&
	       r.count == count;
}

static void
test_merged(void)
{
	struct wirext_run r;

	server_urgent_init(&u);
	T_CHECK(ask(0, a, 7, 10, 40) == 40);
	T_CHECK(ask(0, b, 7, 10, 40) == 0);
	T_CHECK(ask(0, b, 7, 0, 100) == 60); /* on both sides of it */
	T_CHECK(ask(0, b, 8, 1023, 1) == 1);
	T_CHECK(next_is(32, 7, 10, 32));
	T_CHECK(ask(0, a, 7, 10, 40) == 0); /* a part is on its way */
	T_CHECK(next_is(32, 7, 0, 10)); /* the other one's turn */
	T_CHECK(next_is(32, 7, 42, 8));
	T_CHECK(next_is(1024, 7, 50, 50));
	T_CHECK(next_is(1024, 8, 1023, 1));
	T_CHECK(!server_urgent_next(&u, 32, &r));
}

/* Who asks while it is on its way gets no second answer; who asks later has lost it. */
static void
test_again(void)
{
	const struct wirext_run sent = { 3, 0, 20 };
	const uint64_t later = 1000000 + SERVER_URGENT_AGAIN_US;

	server_urgent_init(&u);
	T_CHECK(ask(0, a, 3, 0, 20) == 20);
	T_CHECK(next_is(32, 3, 0, 20));
	T_CHECK(ask(900000, a, 3, 0, 20) == 0); /* it is not even sent */
	server_urgent_went(&u, 1000000, &sent);
	T_CHECK(ask(later - 1, b, 3, 5, 1) == 0);
	T_CHECK(ask(later, b, 3, 5, 1) == 1);
	T_CHECK(u.sent == 20);
}

/* One that asks for everything delays one who reads by a run, each time; two of them by two. */
static void
test_turns(void)
{
	static const uint8_t greedy[2][4] = { { 10, 0, 0, 8 }, { 10, 0, 0, 9 } };
	struct wirext_run r;

	server_urgent_init(&u);
	for (uint32_t chunk = 0; chunk < 80; chunk++)
		for (uint32_t g = 0; g < 2; g++)
			ask(0, greedy[g], 100 * g + chunk, 0, 1024);
	for (uint32_t i = 0; i < 20; i++) {
		uint32_t before = 0;
		T_CHECK(ask(0, a, 500 + i, 0, 64) == 64);
		for (uint32_t came = 0; came < 64; came += r.chunk == 500 + i ? r.count : 0) {
			T_CHECK(server_urgent_next(&u, 32, &r));
			before += r.chunk != 500 + i;
		}
		T_CHECK(before <= 4);
	}
	/* They take turns with one another, too. */
	uint32_t of_first = 0;
	for (uint32_t i = 0; i < 100; i++) {
		T_CHECK(server_urgent_next(&u, 32, &r));
		of_first += r.chunk < 100;
	}
	T_CHECK(of_first == 50);
}

/* Two that ask for a run whenever they have got one do not keep a third one waiting. */
static void
test_nobody_starves(void)
{
	static const uint8_t third[4] = { 10, 0, 0, 8 };
	struct wirext_run r;
	uint32_t of_third = 0;

	server_urgent_init(&u);
	for (uint32_t chunk = 0; chunk < 90; chunk++)
		ask(0, third, chunk, 0, 32);
	ask(0, a, 1000, 0, 32);
	ask(0, b, 2000, 0, 32);
	for (uint32_t i = 1; i <= 240; i++) {
		T_CHECK(server_urgent_next(&u, 32, &r));
		if (r.chunk < 1000)
			of_third++;
		else
			T_CHECK(ask(0, r.chunk < 2000 ? a : b, r.chunk + 1, 0, 32) == 32);
	}
	T_CHECK(of_third == 80);
}

/* What one that asks for everything waits for comes to a reader no later for that, and once. */
static void
test_taken_over(void)
{
	static const uint8_t greedy[4] = { 10, 0, 0, 8 };
	struct wirext_run r;
	uint32_t before = 0, of_chunk = 0, n = 0;

	server_urgent_init(&u);
	for (uint32_t chunk = 0; chunk < 90; chunk++)
		ask(0, greedy, chunk, 0, 1024);
	T_CHECK(ask(0, a, 80, 100, 64) == 64);
	T_CHECK(ask(0, b, 80, 100, 64) == 0);
	T_CHECK(ask(0, b, 0, 0, 64) == 0); /* it comes next */
	T_CHECK(ask(0, b, 70, 0, 32) == 32);
	T_CHECK(ask(0, b, 71, 1000, 24) == 24);
	for (uint32_t came = 0; came < 64; before++) {
		T_CHECK(server_urgent_next(&u, 32, &r));
		came += r.chunk == 80 && r.first >= 100 && r.first < 164 ? r.count : 0;
	}
	T_CHECK(before <= 8);
	of_chunk = 64;
	for (; server_urgent_next(&u, 32, &r); n += r.count)
		of_chunk += r.chunk == 80 ? r.count : 0;
	T_CHECK(of_chunk == 1024);
	T_CHECK(n > 89 * 1024);
	T_CHECK(n <= 90 * 1024 - 64);
}

static void
test_gone(void)
{
	server_urgent_init(&u);
	for (uint32_t i = 0; i < 10; i++)
		ask(0, i % 2 == 0 ? a : b, i, 0, 8);
	server_urgent_forget(&u, a);
	T_CHECK(next_is(32, 1, 0, 8));
	T_CHECK(next_is(32, 3, 0, 8));
	server_urgent_forget(&u, b);
	T_CHECK(u.n == 0);
}

/* When three have taken all the room, a fourth one still gets some. */
static void
test_room(void)
{
	server_urgent_init(&u);
	for (uint32_t i = 0; i < SERVER_URGENT_OF_ADDRESS; i++)
		for (uint8_t g = 0; g < 3; g++)
			ask(0, (uint8_t[4]){ 10, 0, 1, g }, 100 * g + i, 0, 1);
	T_CHECK(u.n == SERVER_URGENT_RUNS);
	for (uint32_t i = 0; i < 20; i++)
		T_CHECK(ask(0, a, 500 + i, 0, 1) == 1);
	T_CHECK(u.n == SERVER_URGENT_RUNS);
	for (uint32_t i = 0; i < u.n; i++) {
		uint32_t runs = 0;
		for (uint32_t k = 0; k < u.n; k++)
			runs += memcmp(u.waiting[k].ip, u.waiting[i].ip, 4) == 0;
		T_CHECK(u.waiting[i].runs == runs);
	}
	for (uint32_t i = 0; i < 3; i++)
		T_CHECK(next_is(32, 100 * i, 0, 1));
	T_CHECK(next_is(32, 500, 0, 1));
}

static void
test_bounds(void)
{
	struct wirext_run r;

	server_urgent_init(&u);
	for (uint32_t i = 0; i < SERVER_URGENT_OF_ADDRESS; i++)
		T_CHECK(ask(0, a, i, 0, 1) == 1);
	T_CHECK(ask(0, a, 1000, 0, 1) == 0);
	T_CHECK(ask(0, b, 1000, 0, 1) == 1); /* another one still may */
	for (uint32_t i = 0; i < 1000; i++) {
		const uint8_t ip[4] = { 10, 1, (uint8_t)(i >> 8), (uint8_t)i };
		ask(0, ip, 2000 + i, 0, 1);
	}
	T_CHECK(u.n == SERVER_URGENT_RUNS);
	for (uint32_t i = 0; i < SERVER_URGENT_RUNS; i++)
		T_CHECK(server_urgent_next(&u, 1, &r));
	T_CHECK(!server_urgent_next(&u, 1, &r));
}

static void
test_share(void)
{
	struct wirext_run r = { 0, 0, SERVER_URGENT_BURST };

	server_urgent_init(&u);
	T_CHECK(server_urgent_may(&u) == SERVER_URGENT_BURST);
	server_urgent_went(&u, 0, &r);
	T_CHECK(server_urgent_may(&u) == 0);
	server_urgent_others_went(&u, 5);
	T_CHECK(server_urgent_may(&u) == 5);
	r.count = 8; /* a packet may be longer than what is left */
	server_urgent_went(&u, 0, &r);
	T_CHECK(server_urgent_may(&u) == 0);
	server_urgent_others_went(&u, 100000);
	T_CHECK(server_urgent_may(&u) == SERVER_URGENT_BURST);
}

/* The carousel is in the middle of a chunk, and much is read ahead of sending. */
static void
test_engine(void)
{
	uint64_t now;
	struct server *s = begin(&now);

	T_CHECK(run(s, &now, 100).others > 100);
	say_urgent(s, now, 2, 100, 50);
	struct went w = run(s, &now, 20);
	T_CHECK(w.urgent == 50);
	T_CHECK(w.before <= 16); /* a burst, at most */
	T_CHECK(w.others > 50);
	struct server_stats st = server_stats(s);
	T_CHECK(st.urgent_asked == 50 && st.urgent_sent == 50);
	/* Not of the image, or not of the chunk: nothing. */
	say_urgent(s, now, 3, 0, 10);
	T_CHECK(run(s, &now, 20).urgent == 0);
	server_free(s);
}

/* However much is asked for, the others have their half; and the rest when they are done. */
static void
test_engine_share(void)
{
	uint64_t now;
	struct server *s = begin(&now);

	T_CHECK(run(s, &now, 60).others > 0);
	for (uint32_t chunk = 0; chunk < 3; chunk++)
		say_urgent(s, now, chunk, 0, 1024);
	struct went w = run(s, &now, 150);
	T_CHECK(w.urgent >= w.others);
	T_CHECK(w.urgent <= w.others + SERVER_URGENT_BURST + 16);
	w = run(s, &now, 2000);
	T_CHECK(server_stats(s).urgent_sent == 3 * 1024);
	/* And all of the others that the client has said to have room for. */
	T_CHECK(server_stats(s).blocks_sent == WIREXT_JOIN_CREDIT);
	server_free(s);
}

/* A disk that reads a run in eight milliseconds, and urgent ones first, as the shell does. */
static struct went
run_slow_disk(struct server *s, uint64_t *now, unsigned ms)
{
	uint32_t bufs[4 + SERVER_PARITY_BUFFERS + SERVER_URGENT_BUFFERS], n = 0;
	struct server_run r;
	struct server_out out;
	struct went w = { 0 };

	for (unsigned i = 0; i < ms; i++) {
		*now += 1000;
		if (i % 20 == 0)
			for (uint32_t chunk = 0; chunk < 3; chunk++)
				say_urgent(s, *now, chunk, 0, 1024);
		while (server_read_next(s, &r)) {
			bool first = r.buf >= 4 + SERVER_PARITY_BUFFERS;
			memmove(bufs + 1, bufs, first ? n * sizeof *bufs : 0);
			bufs[first ? 0 : n] = r.buf;
			n++;
		}
		if (i % 8 == 0 && n > 0) {
			server_read_done(s, bufs[0]);
			memmove(bufs, bufs + 1, --n * sizeof *bufs);
		}
		while (server_output(s, *now, &out)) {
			w.urgent += out.kind == SERVER_OUT_URGENT ? out.count : 0;
			w.others += out.kind == SERVER_OUT_BLOCK || out.kind == SERVER_OUT_DATA
			                ? out.count
			                : 0;
		}
	}
	return w;
}

/* The others have their half also if the disk is slower than the network. */
static void
test_engine_disk(void)
{
	uint64_t now;
	struct server *s = begin(&now);
	struct went w = run_slow_disk(s, &now, 400);

	T_CHECK(w.urgent >= w.others);
	T_CHECK(w.urgent <= w.others + SERVER_URGENT_BURST + 32 * SERVER_URGENT_BUFFERS);
	server_free(s);
}

/* What a client waits for that leaves is sent to nobody. */
static void
test_engine_leave(void)
{
	uint64_t now;
	struct server *s = begin(&now);

	for (uint32_t chunk = 0; chunk < 3; chunk++)
		say_urgent(s, now, chunk, 0, 1024);
	uint32_t went = run(s, &now, 20).urgent;
	T_CHECK(went > 0);
	leave_ext(s, now, ip_a);
	went += run(s, &now, 2000).urgent;
	T_CHECK(went < 1024);
	server_free(s);
}

int
main(void)
{
	test_merged();
	test_again();
	test_turns();
	test_nobody_starves();
	test_taken_over();
	test_gone();
	test_room();
	test_bounds();
	test_share();
	test_engine();
	test_engine_share();
	test_engine_disk();
	test_engine_leave();
	return t_done();
}
