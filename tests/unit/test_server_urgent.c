/* Blocks that somebody waits for: what is added, in which order it goes, and how much of it before
 * others; and the whole engine: URGENT in, URGENT_DATA out before what is read ahead. */
#include "frisbeed/server/server_urgent.h"

#include <string.h>

#include "tests/t.h"
#include "tests/unit/server_talk.h"

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
	T_CHECK(next_is(32, 7, 42, 8));
	T_CHECK(next_is(32, 7, 0, 10));
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

static void
say(struct server *s, uint64_t now, struct wirext_msg *m)
{
	uint8_t pkt[WIRE_PACKET_MAX];

	m->session = 9;
	memcpy(m->srcip, ip_a, 4);
	server_input(s, now, pkt, wirext_put(m, pkt, sizeof pkt), ip_a);
}

static void
say_urgent(struct server *s, uint64_t now, uint32_t chunk, unsigned first, unsigned count)
{
	struct wirext_msg m = { .kind = WIREXT_URGENT };

	m.u.urgent.clientid = 7;
	m.u.urgent.n = 1;
	m.u.urgent.at[0] = (struct wirext_run){ chunk, (uint16_t)first, (uint16_t)count };
	say(s, now, &m);
}

/* Of so many milliseconds: how many blocks of each kind go, and the first urgent one. */
struct went {
	uint32_t urgent, others, before; /* others before the first urgent one */
};

static struct went
run(struct server *s, uint64_t *now, unsigned ms)
{
	struct went w = { 0 };
	struct server_out out;

	for (unsigned i = 0; i < ms; i++) {
		*now += 1000;
		for (read_all(s); server_output(s, *now, &out); read_all(s)) {
			if (out.kind == SERVER_OUT_URGENT) {
				w.urgent += out.count;
				T_CHECK(out.block + out.count <= out.content);
			} else if (out.kind == SERVER_OUT_BLOCK || out.kind == SERVER_OUT_DATA) {
				w.others += out.count;
				w.before += w.urgent == 0 ? out.count : 0;
			}
		}
	}
	return w;
}

static struct server *
begin(uint64_t *now)
{
	struct server *s = make_ext(0);
	uint8_t pkt[WIRE_PACKET_MAX];
	struct wire_msg join = from_a(WIRE_JOIN);

	join.u.join.clientid = 7;
	size_t len = wire_put(&join, pkt, sizeof pkt);
	len = wirext_put_offer(pkt, len, sizeof pkt, 0);
	server_input(s, 0, pkt, len, ip_a);
	*now = 0;
	return s;
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

int
main(void)
{
	test_merged();
	test_again();
	test_bounds();
	test_share();
	test_engine();
	test_engine_share();
	return t_done();
}
