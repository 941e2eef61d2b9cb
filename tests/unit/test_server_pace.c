/* The server's engine: how fast it sends, when it is told, and when it finds out. */
#include <stdio.h>

#include "common/wire/blockmap.h"
#include "tests/t.h"
#include "tests/unit/server_talk.h"

static void
test_set_rate(void)
{
	struct server *s = make(8 * MIB, true, 16, 2000);
	uint64_t now = 1000000;

	for (uint32_t c = 0; c < 8; c++)
		request(s, now, c, 0, 1024);
	server_set_rate(s, WIRE_BLOCK_COST_BITS * 1000);
	uint32_t n = sent_in(s, &now, 1000);
	T_CHECK(n >= 980);
	T_CHECK(n <= 1001);
	server_set_rate(s, WIRE_BLOCK_COST_BITS * 100);
	n = sent_in(s, &now, 1000);
	T_CHECK(n >= 97);
	T_CHECK(n <= 102);
	server_set_rate(s, WIRE_BLOCK_COST_BITS * 4000);
	n = sent_in(s, &now, 1000);
	T_CHECK(n >= 3900);
	T_CHECK(n <= 4050);
	server_free(s);
}

/* A server of this rate, in blocks a second, from which all of 16 chunks was requested. */
static struct server *
make_at(uint64_t per_s)
{
	struct server_config cfg = { .image_bytes = 16 * MIB,
		.whole_chunks = true,
		.run_blocks = 32,
		.ahead = 4,
		.rate_bits = per_s * WIRE_BLOCK_COST_BITS };
	struct server *s = server_new(&cfg, 0);

	for (uint32_t c = 0; c < 16; c++)
		request(s, 0, c, 0, 1024);
	return s;
}

/* Who is three milliseconds late makes up for them, at no more than 1.1 times the rate; who is
 * seven late does not. */
static void
test_late_by_milliseconds(void)
{
	for (uint64_t late = 3; late <= 7; late += 4) {
		struct server *s = make_at(100000);
		uint64_t now = 1000, sent = send_now(s, now), soon = 0, most = 0;
		now += late * 1000 + 80;
		for (; now < 100000; now = server_deadline(s, now)) {
			uint32_t n = send_now(s, now);
			most = n > most ? n : most;
			sent += n;
			soon += now < 1000 + late * 1000 + 10080 ? n : 0;
		}
		T_CHECK(sent >= (late == 3 ? 9880 : 9180));
		T_CHECK(sent <= (late == 3 ? 9910 : 9230));
		T_CHECK(soon <= 1100 + 25);
		T_CHECK(most == (late == 3 ? 25 : 8));
		server_free(s);
	}
}

static void
test_pacing(void)
{
	struct server *s = make(16 * MIB, true, 16, 2000);

	for (uint32_t c = 0; c < 16; c++)
		request(s, 0, c, 0, 1024);
	T_CHECK(send_now(s, 1000) == 16);
	T_CHECK(server_deadline(s, 1500) == 3000);
	T_CHECK(send_now(s, 2999) == 0);
	T_CHECK(send_now(s, 3100) == 16);
	T_CHECK(server_deadline(s, 3100) == 5000); /* on the grid */
	T_CHECK(send_now(s, 8000) == 16);
	T_CHECK(server_deadline(s, 8000) == 10000); /* a new one */
	uint64_t sent = 0, now = 10000;
	for (; now < 1010000; now = server_deadline(s, now) + 70)
		sent += send_now(s, now);
	/* 70 us late each time, yet no slower than the grid. */
	T_CHECK(sent == 8000);
	server_free(s);
}

/* The rate of each -W is kept, in bursts of 100 us, but of 64 blocks at most, and below 1 Gbit/s
 * of 8. */
static void
test_rates(void)
{
	static const struct {
		uint64_t bits;
		uint32_t burst;
	} rates[] = { { 1000000, 1 }, { 60000000, 1 }, { 333333333, 3 }, { 900000000, 8 },
		{ 999000000, 8 }, { 1000000000, 11 }, { 2500000000, 27 }, { 10000000000, 64 },
		{ 25000000000, 64 } };

	for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
		double per_us = (double)rates[i].bits / WIRE_BLOCK_COST_BITS / 1e6;
		struct server *s = make_at(1);
		server_set_rate(s, rates[i].bits);
		uint32_t most = 0, n = 0;
		uint64_t end = (uint64_t)(10000 / per_us), now = 0;
		for (; now < end; now = server_deadline(s, now)) {
			uint32_t burst = send_now(s, now);
			most = burst > most ? burst : most;
			n += burst;
		}
		printf("# %llu bit/s: bursts of %u\n", (unsigned long long)rates[i].bits, most);
		T_CHECK(most == rates[i].burst);
		T_CHECK(n >= 9990);
		T_CHECK(n <= 10000 + most);
		server_free(s);
	}
}

/* Requests for all of an image of 64 chunks, at 16 blocks every 2 ms. */
static struct server *
make_dynamic(bool ext)
{
	struct server_config cfg = { .image_bytes = 64 * MIB,
		.whole_chunks = true,
		.run_blocks = 32,
		.ahead = 4,
		.burst = 16,
		.gap_us = 2000,
		.dynamic = true,
		.ext = { .on = ext, .port = 5008, .session = 9 } };
	struct server *s = server_new(&cfg, 0);

	for (uint32_t c = 0; c < 64; c++)
		request(s, 0, c, 0, 1024);
	return s;
}

/* Blocks sent until then; after each deadline. */
static uint32_t
send_until(struct server *s, uint64_t *now, uint64_t then)
{
	uint32_t n = 0;

	for (; *now < then; *now = server_deadline(s, *now) + 1)
		n += send_now(s, *now);
	return n;
}

/* -D with old clients: a rate at which much is asked for again is too high. */
static void
test_dynamic_old(void)
{
	struct server *s = make_dynamic(false);
	struct blockmap half = blockmap_range(0, 1024);
	uint64_t now = 0;

	for (uint32_t b = 0; b < 1024; b += 2)
		blockmap_clear(&half, b);
	uint32_t whole = send_until(s, &now, 1000000);
	T_CHECK(whole >= 7900);
	T_CHECK(whole <= 8100);
	for (uint32_t c = 0; c < 4; c++)
		prequest(s, now, c, half, 1);
	send_until(s, &now, 1600000);
	uint32_t less = send_until(s, &now, 1700000);
	T_CHECK(less > 300);
	T_CHECK(less < 500);
	T_CHECK(server_stats(s).rate_reductions == 1);
	/* Who came too late for the first blocks has lost nothing. */
	for (uint32_t c = 4; c < 8; c++)
		prequest(s, now, c, blockmap_range(0, 512), 0);
	send_until(s, &now, 2600000);
	T_CHECK(server_stats(s).rate_reductions == 1);
	T_CHECK(send_until(s, &now, 2700000) > less);
	server_free(s);
}

/* ... also when what one of them asks for nearly always comes for another, who lost the
 * same in the same queue: each has lost what it lacks, not what is new of it. */
static void
test_dynamic_alike(void)
{
	struct server *s = make_dynamic(false);
	uint64_t now = 0;

	send_until(s, &now, 1000000);
	for (uint32_t c = 2; c < 7; c++) {
		struct blockmap lack = { 0 };
		for (uint32_t b = 1; b < 1024; b += 16)
			blockmap_set(&lack, b);
		for (uint32_t b = 2; b < 12; b++) {
			prequest(s, now, c, lack, 1);
			blockmap_set(&lack, b);
		}
	}
	send_until(s, &now, 1600000);
	T_CHECK(server_stats(s).rate_reductions == 1);
	server_free(s);
}

static void
complain(struct server *s, uint64_t now, uint32_t epoch, uint32_t lost, bool queue)
{
	struct wirext_msg m = {
		.kind = WIREXT_CONGESTION, .srcip = { 10, 0, 0, 2 }, .session = 9
	};
	uint8_t pkt[WIRE_PACKET_MAX];

	m.u.congestion.clientid = 7;
	m.u.congestion.epoch = epoch;
	m.u.congestion.lost = lost;
	m.u.congestion.of = 100;
	m.u.congestion.queue = queue;
	server_input(s, now, pkt, wirext_put(&m, pkt, sizeof pkt), ip_a);
}

static bool
is_time(const struct server_out *out, struct wirext_msg *m)
{
	struct err e;

	return out->kind == SERVER_OUT_PACKET && wirext_is(out->pkt, out->len) &&
	       wirext_get(m, out->pkt, out->len, &e) == 0 && m->kind == WIREXT_TIME;
}

/* The last time signal among what is sent now, and how many there were. */
static uint32_t
signals(struct server *s, uint64_t now, struct wirext_msg *last)
{
	struct server_out out;
	struct wirext_msg m;
	uint32_t n = 0;

	for (read_all(s); server_output(s, now, &out); read_all(s)) {
		if (!is_time(&out, &m))
			continue;
		*last = m;
		n++;
	}
	return n;
}

/* -D with the extension: time signals go out; a complaint slows down once. */
static void
test_dynamic_ext(void)
{
	struct server *s = make_dynamic(true);
	struct wirext_msg m = { 0 };
	uint64_t now = 0;
	uint32_t n = 0;

	send_until(s, &now, 1000000);
	complain(s, now, 0, 0, true); /* now it knows that we are there */
	for (uint64_t end = now + 1000000; now < end; now = server_deadline(s, now) + 1)
		n += signals(s, now, &m);
	T_CHECK(n >= 35);
	T_CHECK(n <= 41);
	T_CHECK(m.session == 9);
	T_CHECK(now - m.u.time.time_us <= 30000);
	T_CHECK(m.u.time.sent <= server_stats(s).blocks_sent);
	T_CHECK(m.u.time.sent + 400 >= server_stats(s).blocks_sent);
	uint32_t rate_reductions = server_stats(s).rate_reductions;
	complain(s, now, m.u.time.epoch, 5, true);
	complain(s, now, m.u.time.epoch, 5, true); /* it is known */
	send_now(s, now + 1000);
	T_CHECK(server_stats(s).rate_reductions == rate_reductions + 1);
	T_CHECK(server_stats(s).rate < 0.86 * 8000);
	T_CHECK(server_stats(s).congestions == 3);
	/* Few losses without a queue are nothing; of the future, neither. */
	complain(s, now, m.u.time.epoch + 1, 2, false);
	complain(s, now, m.u.time.epoch + 99, 50, true);
	send_until(s, &now, now + 900000);
	T_CHECK(server_stats(s).rate_reductions == rate_reductions + 1);
	server_free(s);
}

/* Time signals have a pause before them, in which a full queue gets room for them; the rate stays
 * what it is, since that is made up for. */
static void
test_signal_rests(void)
{
	struct server *s = make_dynamic(true);
	uint64_t now = 0, last = 0, least = UINT64_MAX, end = 1500000;
	uint32_t sent = 0, said = 0;
	struct server_out out;
	struct wirext_msg m;

	send_until(s, &now, 500000);
	complain(s, now, 0, 0, true);
	send_until(s, &now, 500001);
	double rate = server_stats(s).rate;
	for (; now < end; now = server_deadline(s, now) + 1)
		for (read_all(s); server_output(s, now, &out); read_all(s))
			if (out.kind == SERVER_OUT_BLOCK) {
				sent++;
				last = now;
			} else if (is_time(&out, &m) && last > 0) {
				said++;
				least = now - last < least ? now - last : least;
			}
	T_CHECK(said >= 35);
	T_CHECK(least >= 2 * 124);
	T_CHECK(sent > 0.97 * rate);
	server_free(s);
}

static void
tell(struct server *s, uint64_t now, enum wirext_kind kind, uint8_t who, uint32_t epoch)
{
	struct wirext_msg m = { .kind = kind, .srcip = { 10, 0, 0, who }, .session = 9 };
	uint8_t pkt[WIRE_PACKET_MAX];

	if (kind == WIREXT_HEARS) {
		m.u.hears.clientid = who;
		m.u.hears.epoch = epoch;
	} else {
		m.u.congestion.clientid = who;
		m.u.congestion.epoch = epoch;
		m.u.congestion.lost = 90;
		m.u.congestion.of = 100;
		m.u.congestion.queue = true;
	}
	server_input(s, now, pkt, wirext_put(&m, pkt, sizeof pkt), m.srcip);
}

/* Is a STATE among what is sent now that asks who hears everything?  *epoch: of the last
 * time signal. */
static bool
asks(struct server *s, uint64_t now, uint32_t *epoch)
{
	struct server_out out;
	struct wirext_msg m;
	bool asked = false;
	struct err e;

	for (read_all(s); server_output(s, now, &out); read_all(s)) {
		if (out.kind != SERVER_OUT_PACKET || !wirext_is(out.pkt, out.len) ||
		    wirext_get(&m, out.pkt, out.len, &e) != 0)
			continue;
		asked |= m.kind == WIREXT_STATE && (m.u.state.flags & WIREXT_ASKS) != 0;
		if (m.kind == WIREXT_TIME)
			*epoch = m.u.time.epoch;
	}
	return asked;
}

/* The least rate in two seconds in which 66 complains all the time, beside this number of
 * others, which say that they hear everything when they are asked; and the greatest
 * one. */
static void
complain_all_the_time(uint8_t others, bool objects, double *least, double *most)
{
	struct server *s = make_dynamic(true);
	uint64_t now = 0, next = 0;
	uint32_t epoch = 0;

	send_until(s, &now, 500000);
	for (uint8_t i = 0; i < others; i++)
		tell(s, now, WIREXT_HEARS, 2 + i, epoch);
	*least = *most = server_stats(s).rate;
	for (uint64_t end = now + 2000000; now < end; now = server_deadline(s, now) + 1) {
		bool asked = asks(s, now, &epoch);
		for (uint8_t i = 0; i < others && objects && asked; i++)
			tell(s, now, WIREXT_HEARS, 2 + i, epoch);
		if (now >= next) {
			tell(s, now, WIREXT_CONGESTION, 66, epoch);
			next = now + 20000;
		}
		double rate = server_stats(s).rate;
		*least = rate < *least ? rate : *least;
		*most = now > end - 1000000 && rate > *most ? rate : *most;
	}
	server_free(s);
}

/* A neighbour complains all the time.  Whoever hears everything objects: two object to
 * one, or one has half of the time.  Alone, or when nobody objects, the complaint
 * counts. */
static void
test_contested(void)
{
	double least, most, first = 7000;

	complain_all_the_time(0, false, &least, &most);
	T_CHECK(least < first / 8);
	complain_all_the_time(2, false, &least, &most);
	T_CHECK(least < first / 8);
	complain_all_the_time(1, true, &least, &most);
	T_CHECK(least < first / 8);
	T_CHECK(most > first / 2);
	complain_all_the_time(2, true, &least, &most);
	T_CHECK(least > first / 4);
}

int
main(void)
{
	test_contested();
	test_set_rate();
	test_late_by_milliseconds();
	test_pacing();
	test_rates();
	test_dynamic_old();
	test_dynamic_alike();
	test_dynamic_ext();
	test_signal_rests();
	return t_done();
}
